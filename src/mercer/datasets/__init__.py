"""Loaders of data sets, which are not part of mercer.

A loader reads files from the folder `data_home=`. The default is the folder that the environment
variable MERCER_DATA names, or else a cache folder. `fetch` downloads data sets that have a stable
public page. If a file is missing, the error of the loader says where to put it.
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
