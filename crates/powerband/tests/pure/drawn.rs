//! Pictures as pixels: what a drawing says is there, is seen there.
use resvg::tiny_skia::Pixmap;
use roxmltree::{Document, Node};

use crate::desk::{Desk, text};

/// An experiment whose pictures have marks of all shapes, and labels with signs that are not ASCII.
fn measured() -> Desk {
    let desk = Desk::new();
    desk.run(&["--seed", "1", "run", "plans/router.toml"]).ended(0);
    desk
}

/// A picture as its drawing and as pixels.
fn both(desk: &Desk, words: &[&str]) -> (String, Pixmap) {
    let file = |format: &str| {
        let path = desk.beside(&format!("picture.{format}"));
        let place = path.display().to_string();
        desk.run(&[&["export", "--force", "--format", format, "-o", &place][..], words].concat()).ended(0);
        path
    };
    let pixels = Pixmap::decode_png(&std::fs::read(file("png")).unwrap()).unwrap();
    (text(&file("svg")), pixels)
}

/// A number of an element.
fn number(node: &Node, name: &str) -> Option<f64> {
    node.attribute(name)?.parse().ok()
}

/// Where the points of a drawing lie, and their colours.
fn points<'a>(document: &'a Document) -> Vec<((f64, f64), &'a str)> {
    let marks = document.descendants().filter(|it| it.attribute("class") == Some("pb-mark pb-point"));
    let place = |it: &Node<'a, 'a>| {
        let x = number(it, "cx").or_else(|| number(it, "data-cx"))?;
        Some(((x, number(it, "cy").or_else(|| number(it, "data-cy"))?), it.attribute("fill")?))
    };
    marks.filter_map(|it| place(&it)).collect()
}

/// The colour of a pixel, `#rrggbb`.
fn colour(pixels: &Pixmap, (x, y): (f64, f64)) -> String {
    let pixel = pixels.pixel(x as u32, y as u32).unwrap();
    assert_eq!(pixel.alpha(), 255, "a picture has paper everywhere");
    format!("#{:02x}{:02x}{:02x}", pixel.red(), pixel.green(), pixel.blue())
}

/// How many pixels of a box, in the drawing's units, are not paper.
fn inked(pixels: &Pixmap, scale: f64, (left, top): (f64, f64), (right, bottom): (f64, f64)) -> usize {
    let paper = pixels.pixel(0, 0).unwrap();
    let across = (left * scale) as u32..(right * scale) as u32;
    let of = |x| ((top * scale) as u32..(bottom * scale) as u32).filter_map(move |y| pixels.pixel(x, y));
    across.flat_map(of).filter(|pixel| *pixel != paper).count()
}

#[test]
fn marks_and_words_are_seen_where_the_drawing_has_them() {
    let desk = measured();
    let sentence = desk.run(&["export", "--format", "svg", "--picture", "?"]).refused(2);
    let names: Vec<&str> = sentence.split_once("it has: ").unwrap().1.split(", ").collect();
    let mut seen = 0;
    for (name, dark) in names.iter().flat_map(|name| [(name, false), (name, true)]) {
        let words = [&["--picture", name][..], if dark { &["--dark"] } else { &[] }].concat();
        let (drawing, pixels) = both(&desk, &words);
        let document = Document::parse(&drawing).unwrap();
        let scale = f64::from(pixels.width()) / 460.0;
        assert_eq!(scale, 2.0, "{name}");
        assert_eq!(colour(&pixels, (0.0, 0.0)), if dark { "#15181c" } else { "#ffffff" }, "{name}");
        let all = points(&document);
        for &((x, y), fill) in &all {
            let near = |&&(other, _): &&((f64, f64), &str)| (other.0 - x).hypot(other.1 - y) < 12.0;
            if all.iter().filter(near).count() == 1 && fill != "none" {
                assert_eq!(colour(&pixels, (x * scale, y * scale)), fill, "{name}: the point at {x}, {y}");
                seen += 1;
            }
        }
        for words in document.descendants().filter(|it| it.has_tag_name(("http://www.w3.org/2000/svg", "text"))) {
            let (Some(x), Some(y)) = (number(&words, "x"), number(&words, "y")) else { continue };
            let ink = inked(&pixels, scale, (x - 4.0, y - 9.0), (x + 4.0, y));
            assert!(ink > 8, "{name}: nothing is written at {x}, {y}: {:?}", words.text());
        }
    }
    assert!(seen > 20, "{seen} points stand alone");
}

#[test]
fn a_picture_is_as_wide_as_asked_and_the_same_each_time() {
    let desk = measured();
    let (_, pixels) = both(&desk, &[]);
    assert_eq!(pixels.width(), 920);
    let file = |name: &str| {
        let path = desk.beside(name);
        let place = path.display().to_string();
        desk.run(&["export", "--format", "png", "--width", "1200", "-o", &place]).ended(0);
        std::fs::read(path).unwrap()
    };
    let first = file("a.png");
    assert_eq!(first, file("b.png"));
    assert_eq!(Pixmap::decode_png(&first).unwrap().width(), 1200);
}
