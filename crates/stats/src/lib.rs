//! From trials to a verdict with a known error rate. Pure: numbers and a seed in, numbers out.
