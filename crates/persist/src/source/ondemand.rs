//! Ubuntu's `ondemand`, a script that waits a minute and later a unit, which leave the kernel's default behind.
use crate::scene::{Scene, of_service};

/// What it takes, the first that is offered.
const WANTED: [&str; 3] = ["interactive", "ondemand", "powersave"];

/// What the script took before it looked at what is offered.
const WANTED_FIRST: [&str; 1] = ["ondemand"];

pub(super) fn look(scene: &mut Scene<'_>) {
    let service = scene.service("ondemand");
    if !scene.target.is_governor() || !service.is_there() {
        return;
    }
    let is_unit = service.path.ends_with(".service");
    let text = if is_unit { String::new() } else { scene.peek(&service.path).unwrap_or_default() };
    let looks = !text.contains("scaling_governor") || text.contains("scaling_available_governors");
    let wanted = if looks { &WANTED[..] } else { &WANTED_FIRST[..] };
    let sites = scene.target.everywhere();
    let values = scene.first_offered(wanted);
    let when = if is_unit { "at the end of the boot" } else { "a minute after boot" };
    let because = match wanted {
        [_] => when.to_owned(),
        all => format!("{when}: the first of {} that is offered", all.join(", ")),
    };
    scene.push(of_service("ondemand", &service).sets(values, sites).because(because));
}
