//! Tests in a kernel of its own: powerband turns real P-states, is killed, loses its power, and reads a real meter.
mod board;
mod cable;
mod counted;
mod cut;
mod desk;
mod ended;
mod experiment;
mod killed;
mod turning;
