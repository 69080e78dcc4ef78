//! Who set a knob, on machines made of prepared files: one test a system people run.
