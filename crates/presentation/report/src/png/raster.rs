//! SVG into pixels, with the fonts of this machine.

use std::sync::Arc;

use resvg::tiny_skia::{Pixmap, Transform};
use resvg::usvg::fontdb::{Database, Family, Query};
use resvg::usvg::{Group, Node, Options, Text, Tree};

use super::NoPng;

/// Pixels along a unit: screens have two, and one looks blurred there.
const SCALE: f32 = 2.0;

/// The fonts of this machine. Where none is named as the one without serifs, any may stand for it: letters that it has
/// not are taken from others.
pub(super) fn fonts() -> Database {
    let mut fonts = Database::new();
    fonts.load_system_fonts();
    let is_known = fonts.query(&Query { families: &[Family::SansSerif], ..Query::default() }).is_some();
    let first = fonts.faces().next().and_then(|face| face.families.first());
    if let Some((family, _)) = first.filter(|_| !is_known).cloned() {
        fonts.set_sans_serif_family(family);
    }
    fonts
}

/// The picture as PNG.
pub(super) fn png(svg: &str, fonts: Database) -> Result<Vec<u8>, NoPng> {
    let options = Options { fontdb: Arc::new(fonts), ..Options::default() };
    let tree = Tree::from_str(svg, &options).map_err(|error| NoPng::NotDrawn(error.to_string()))?;
    if !is_legible(tree.root()) {
        return Err(NoPng::NoFont);
    }
    let size = tree.size().to_int_size().scale_by(SCALE);
    let pixels = size.and_then(|size| Pixmap::new(size.width(), size.height()));
    let mut pixels = pixels.ok_or_else(|| NoPng::NotDrawn("it is too large".to_owned()))?;
    resvg::render(&tree, Transform::from_scale(SCALE, SCALE), &mut pixels.as_mut());
    pixels.encode_png().map_err(|error| NoPng::NotDrawn(error.to_string()))
}

/// Whether it has words, and all their letters and figures. Signs that no font has are drawn as boxes.
fn is_legible(root: &Group) -> bool {
    let (mut waiting, mut has_words) = (vec![root], false);
    while let Some(group) = waiting.pop() {
        for node in group.children() {
            match node {
                Node::Group(group) => waiting.push(group),
                Node::Text(text) if has_letters(text) => has_words = true,
                Node::Text(_) => return false,
                Node::Path(_) | Node::Image(_) => {}
            }
        }
    }
    has_words
}

fn has_letters(text: &Text) -> bool {
    let mut glyphs = text.layouted().iter().flat_map(|span| &span.positioned_glyphs).peekable();
    let is_letter = |letter: char| letter.is_ascii_alphanumeric();
    glyphs.peek().is_some() && glyphs.all(|glyph| glyph.id.0 != 0 || !glyph.text.contains(is_letter))
}

#[cfg(test)]
mod tests {
    use super::*;

    const PICTURE: &str = r#"<svg xmlns="http://www.w3.org/2000/svg" width="60" height="20"><text x="2" y="16" font-family="sans-serif">1 ms</text></svg>"#;

    #[test]
    fn without_a_font_there_is_no_picture() {
        assert_eq!(png(PICTURE, Database::new()), Err(NoPng::NoFont));
    }

    #[test]
    fn a_picture_is_twice_as_large_and_has_ink() {
        if fonts().is_empty() {
            return howlate_testing::skip("this machine has no fonts");
        }
        let pixels = Pixmap::decode_png(&png(PICTURE, fonts()).unwrap()).unwrap();
        assert_eq!((pixels.width(), pixels.height()), (120, 40));
        assert!(pixels.pixels().iter().any(|pixel| pixel.alpha() == 255), "letters");
    }

    #[test]
    fn what_is_no_picture_is_not_drawn() {
        assert!(matches!(png("<svg", fonts()), Err(NoPng::NotDrawn(_))));
    }
}
