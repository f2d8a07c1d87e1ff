"""Data sets: loaders read a folder (`data_home=`, MERCER_DATA, or a cache); none is bundled.

scikit-learn's digits need no file. `fetch` downloads the sets that have a stable public page; for
the others an error of the loader names the file and where to put it.
"""

from ._files import DataNotFound, WrongData, data_folder
from .faces import Faces, load_cmu_faces, load_digit_halves, load_usps
from .fetching import FETCHABLE, fetch
from .functional import load_burgers, load_canadian_weather, load_darcy, load_dti
from .label_sets import LABEL_RANKING, load_bibtex, load_emotions, load_label_ranking
from .molecules import load_massbank, load_qm9
from .strings import load_cmudict, load_inflection, load_ocr_words, load_transliteration

__all__ = [
    "FETCHABLE", "LABEL_RANKING", "DataNotFound", "Faces", "WrongData", "data_folder", "fetch",
    "load_bibtex", "load_burgers", "load_canadian_weather", "load_cmu_faces", "load_cmudict",
    "load_darcy", "load_digit_halves", "load_dti", "load_emotions",
    "load_inflection", "load_label_ranking", "load_massbank", "load_ocr_words",
    "load_qm9", "load_transliteration", "load_usps",
]  # fmt: skip
