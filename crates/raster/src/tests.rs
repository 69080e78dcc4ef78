//! What a picture shows, read back from its pixels.
use super::*;

/// A drawing of one text, without anything else.
fn text(words: &str) -> String {
    format!(
        "<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 100 20\" font-family=\"system-ui, sans-serif\" \
         font-size=\"12\"><text x=\"4\" y=\"14\">{words}</text></svg>"
    )
}

fn pixels(svg: &str, width: u32) -> Pixmap {
    Pixmap::decode_png(&png(svg, width).unwrap()).unwrap()
}

#[test]
fn a_drawing_has_the_width_asked_for_and_its_own_proportions() {
    let drawing = "<svg xmlns='http://www.w3.org/2000/svg' viewBox='0 0 40 10'><rect width='20' height='10' fill='#ff0000'/></svg>";
    let found = pixels(drawing, 400);
    assert_eq!((found.width(), found.height()), (400, 100));
    let red = |x, y| found.pixel(x, y).is_some_and(|it| (it.red(), it.alpha()) == (255, 255));
    assert!(red(0, 0) && red(199, 99) && !red(200, 50));
}

#[test]
fn a_picture_beyond_memory_is_refused_before_it_is_made() {
    let high = "<svg xmlns='http://www.w3.org/2000/svg' viewBox='0 0 1 1000000'/>";
    assert!(matches!(png(high, 1000), Err(RasterError::Size { height: 1_000_000_000, .. })));
    assert!(matches!(png(high, 0), Err(RasterError::Size { .. })));
    assert!(matches!(png("no drawing", 10), Err(RasterError::Drawing(_))));
}

#[test]
fn every_sign_that_pictures_use_has_a_letter_of_its_own() {
    let tofu = pixels(&text("測"), 400);
    assert!(tofu.pixels().iter().any(|it| it.alpha() > 0), "what the font lacks is seen as a box");
    let signs = "azAZ09µμσΔΩαβλ−×→←↑↓≤≥±≈°…·–—‘’“”²³√∞%éßÅжЖ";
    let mut seen = vec![tofu];
    for sign in signs.chars() {
        let found = pixels(&text(&sign.to_string()), 400);
        assert!(found.pixels().iter().any(|it| it.alpha() > 128), "{sign} is blank");
        // The micro sign and the Greek letter look alike.
        assert!(sign == 'μ' || !seen.contains(&found), "{sign} is a box, or looks as another");
        seen.push(found);
    }
}

#[test]
fn the_same_drawing_gives_the_same_bytes() {
    let drawing = text("cpufreq.governor=ondemand, 54.12 Mbit/s");
    assert_eq!(png(&drawing, 920).unwrap(), png(&drawing, 920).unwrap());
}
