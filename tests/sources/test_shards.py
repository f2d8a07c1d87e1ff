"""Messages about files of pairs."""

import numpy as np
import pytest

from mercer.sources import Shards


def test_a_table_without_the_default_names_says_how_to_name_its_columns(tmp_path):
    np.savez(tmp_path / "t.npz", a=np.ones((3, 2)), b=np.ones(3))
    with pytest.raises(ValueError, match="pass inputs= and outputs=, of .*'?a'?"):
        list(Shards(tmp_path / "t.npz"))
