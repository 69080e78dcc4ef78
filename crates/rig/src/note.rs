//! Notes: what is worth knowing and is no failure, on its way to whoever prints it.
use powerband_record::Hint;

/// One of them.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Note {
    /// The sentence, without a final stop.
    pub text: String,
    /// What to do about it, if anything.
    pub hint: Option<Hint>,
}

impl Note {
    /// With something to do about it.
    #[must_use]
    pub fn with(self, hint: Hint) -> Note {
        Note { hint: Some(hint), ..self }
    }
}

impl<T: Into<String>> From<T> for Note {
    fn from(text: T) -> Note {
        Note { text: text.into(), hint: None }
    }
}

/// Takes notes.
pub trait Notes {
    /// Takes one.
    fn note(&mut self, note: Note);
}

impl<F: FnMut(Note)> Notes for F {
    fn note(&mut self, note: Note) {
        self(note);
    }
}
