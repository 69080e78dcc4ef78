//! Cholesky factors of small symmetric matrices, and what is solved by them.
