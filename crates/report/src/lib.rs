//! What a report says, then text and JSON.
