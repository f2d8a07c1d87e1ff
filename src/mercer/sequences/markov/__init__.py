"""The parts of `MaxMarginMarkovNetwork`: chains, their best labellings, the dual and its ascent."""
