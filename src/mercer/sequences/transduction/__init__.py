"""The parts of `SequenceTransducer`: alignment, local map, n-gram model, search, calibration."""
