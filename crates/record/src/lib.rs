//! What everything speaks: quantities and units, CPU lists, the setting grammar, Work, Outcome, Event.
