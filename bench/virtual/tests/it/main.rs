//! Tests in a kernel of its own: powerband turns real P-states, is killed, loses its power, and reads a real meter.
#![expect(
    clippy::unwrap_used,
    clippy::print_stderr,
    reason = "a test that cannot go on has failed, and one that is left out says so"
)]
mod alike;
mod arriving;
mod board;
mod boards;
mod built;
mod cable;
mod carded;
mod counted;
mod cut;
mod desk;
mod differential;
mod ended;
mod experiment;
mod guarding;
mod hang;
mod idle;
mod kept;
mod killed;
mod owner;
mod paced;
mod pair;
mod patched;
#[expect(dead_code, reason = "it belongs to `pure_traces`, and what is replayed there is recorded here")]
#[path = "../pure_traces"]
mod recorded {
    pub(crate) mod compared;
    pub(crate) mod played;
    pub(crate) mod recording;
    pub(crate) mod score;
    pub(crate) mod simulated;
    pub(crate) mod trace;
}
mod traces;
mod turning;
mod twin;
mod whole;
