//! What is drawn, logged and told of a simulated machine.
