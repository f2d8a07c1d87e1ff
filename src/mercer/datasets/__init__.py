"""Data sets: loaders that read a folder (`data_home=`, MERCER_DATA, or a cache), none bundled.

scikit-learn's digits need no file; every other loader says in a sentence which file to put where.
"""

from ._files import DataNotFound, data_folder
from .cmudict import load_cmudict
from .digits import load_digit_halves, load_usps
from .strings import load_ocr_words, load_transliteration

__all__ = [
    "DataNotFound",
    "data_folder",
    "load_cmudict",
    "load_digit_halves",
    "load_ocr_words",
    "load_transliteration",
    "load_usps",
]
