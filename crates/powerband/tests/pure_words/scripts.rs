//! Every error with its advice, by verb, and what verbs answer: the command lines are in `errors/` and `answers/`; a sentence is in one
//! of them alone.
use std::fs;
use std::path::Path;

use crate::script::played;

macro_rules! scripts {
    ($($folder:ident: $($name:ident)*;)*) => {
        $(mod $folder {
            $(
                #[test]
                fn $name() {
                    super::holds(stringify!($folder), stringify!($name));
                }
            )*
        })*
    };
}

scripts! {
    errors: experiments fleet load look measure pace results run set tune;
    answers: changes doctor machines plans;
}

fn holds(folder: &str, name: &str) {
    let scripts = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/pure_words");
    let script = fs::read_to_string(scripts.join(folder).join(format!("{name}.txt"))).unwrap();
    insta::assert_snapshot!(format!("{folder}_{name}"), played(&script));
}
