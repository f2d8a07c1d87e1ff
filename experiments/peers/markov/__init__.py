"""The parts of `MaxMarginMarkovNetwork`: chains, Viterbi, the dual problem and its solver."""
