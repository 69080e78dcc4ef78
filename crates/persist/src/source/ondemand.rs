//! Ubuntu's `ondemand`, a script and later a unit that waits a minute and then leaves the kernel's default behind.
use crate::scene::{Scene, of_service};

/// What it takes, the first that is offered.
const WANTED: [&str; 3] = ["interactive", "ondemand", "powersave"];

pub(super) fn look(scene: &mut Scene<'_>) {
    let service = scene.service("ondemand");
    if !scene.target.is_governor() || !service.is_there() {
        return;
    }
    let sites = scene.target.everywhere();
    let values = scene.first_offered(&WANTED);
    let because = format!("a minute after boot: the first of {} that is offered", WANTED.join(", "));
    scene.push(of_service("ondemand", &service).sets(values, sites).because(because));
}
