//! A drawing in SVG as pixels: PNG, with the letters of a font that comes along. No file and no font of the system is read,
//! so that a drawing gives the same picture wherever it is made.
use std::sync::Arc;

use resvg::tiny_skia::{Pixmap, Transform};
use resvg::usvg::fontdb::{Database, Source};
use resvg::usvg::{Error as SvgError, Options, Tree};
use thiserror::Error;

/// The font: DejaVu Sans 2.37, regular. It has the Latin, Greek and Cyrillic letters and the signs of pictures; letters it
/// lacks (Chinese, say) become boxes. Its licence is that of Bitstream Vera, which lets it be embedded.
const FAMILY: &str = "DejaVu Sans";

/// Most pixels of a picture, four bytes of memory each.
pub const MAX_PIXELS: u64 = 100_000_000;

/// Why there is no picture.
#[derive(Debug, Error)]
#[non_exhaustive]
pub enum RasterError {
    /// The text is no drawing.
    #[error("this is no drawing in SVG: {0}")]
    Drawing(#[from] SvgError),
    /// It has more than [`MAX_PIXELS`], or none.
    #[error("a picture of {width} x {height} pixels cannot be made: it may have from 1 to {MAX_PIXELS} of them")]
    Size {
        /// Pixels across.
        width: u32,
        /// Pixels down.
        height: u64,
    },
    /// PNG could not hold it.
    #[error("the picture cannot be written as PNG: {0}")]
    Png(String),
}

/// A drawing as the bytes of a PNG file `width` pixels wide, as high as the drawing's proportions say.
///
/// # Errors
/// [`RasterError`] when it is no drawing, or too large.
pub fn png(svg: &str, width: u32) -> Result<Vec<u8>, RasterError> {
    let tree = Tree::from_str(svg, &options())?;
    let scale = f64::from(width) / f64::from(tree.size().width());
    let height = (f64::from(tree.size().height()) * scale).round().max(1.0) as u64;
    let size = || RasterError::Size { width, height };
    let fits = u64::from(width) * height <= MAX_PIXELS;
    let lines = u32::try_from(height).ok().filter(|_| fits).ok_or_else(size)?;
    let mut pixels = Pixmap::new(width, lines).ok_or_else(size)?;
    resvg::render(&tree, Transform::from_scale(scale as f32, scale as f32), &mut pixels.as_mut());
    pixels.encode_png().map_err(|error| RasterError::Png(error.to_string()))
}

/// The font for every family that a drawing may name.
fn options() -> Options<'static> {
    let mut fonts = Database::new();
    fonts.load_font_source(Source::Binary(Arc::new(dejavu::sans::regular())));
    fonts.set_sans_serif_family(FAMILY);
    Options { font_family: FAMILY.to_owned(), fontdb: Arc::new(fonts), ..Options::default() }
}

#[cfg(test)]
mod tests;
