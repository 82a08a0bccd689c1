//! The screenshots in `docs/pictures`: updated by `HOWLATE_UPDATE=1 cargo test -p howlate --test browser pictures`.

use std::path::{Path, PathBuf};

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD as BASE64;

use crate::driver::{BrowserView, Clip};
use crate::{browser, report};

/// A screenshot of the top of a page.
struct PageScreenshot {
    /// The file is `page-NAME.webp`.
    name: &'static str,
    recordings: &'static [&'static str],
    width: u32,
    theme: &'static str,
    is_printed: bool,
    /// Visible part, in CSS pixels.
    height: u32,
    /// Device pixels per CSS pixel.
    scale: f64,
}

const PICTURES: [PageScreenshot; 9] = [
    PageScreenshot { scale: 0.75, ..light("cyclic", &["policies"], 1150) },
    light("sleep", &["languages"], 1500),
    light("notify", &["notify"], 1300),
    light("compare", &["idle-before", "idle-after"], 1500),
    light("guests", &["guest"], 1400),
    light("why", &["why"], 1600),
    PageScreenshot { theme: "dark", ..light("dark", &["policies"], 1100) },
    PageScreenshot { width: 400, scale: 0.9, ..light("narrow", &["policies"], 1500) },
    PageScreenshot { width: 800, scale: 0.8, is_printed: true, ..light("print", &["policies"], 1100) },
];

const fn light(name: &'static str, recordings: &'static [&'static str], height: u32) -> PageScreenshot {
    PageScreenshot { name, recordings, width: 1100, theme: "light", is_printed: false, height, scale: 0.6 }
}

fn folder() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../../../docs/pictures")
}

#[test]
fn the_pictures_of_pages_are_those_that_are_taken() {
    let file_names =
        std::fs::read_dir(folder()).unwrap().map(|entry| entry.unwrap().file_name().into_string().unwrap());
    let mut file_names: Vec<String> = file_names.filter(|name| name.starts_with("page-")).collect();
    let mut taken: Vec<String> = PICTURES.iter().map(file).collect();
    file_names.sort_unstable();
    taken.sort_unstable();
    assert_eq!(file_names, taken);
    let shown = ["README.md", "docs/report.md"].map(|page| {
        std::fs::read_to_string(Path::new(env!("CARGO_MANIFEST_DIR")).join("../../..").join(page)).unwrap()
    });
    for file in &taken {
        assert!(
            shown.iter().any(|page| page.contains(&format!("pictures/{file})"))),
            "{file} is shown nowhere"
        );
    }
}

fn file(picture: &PageScreenshot) -> String {
    format!("page-{}.webp", picture.name)
}

#[test]
fn pictures_can_be_taken() {
    let Some(browser) = browser() else { return };
    let is_update = std::env::var_os("HOWLATE_UPDATE").is_some();
    for picture in &PICTURES {
        let view = BrowserView { width: picture.width, theme: picture.theme, script: true };
        browser.open(&report(picture.recordings), view);
        if picture.is_printed {
            browser.print();
        }
        let clip = Clip { width: picture.width, height: picture.height, scale: picture.scale };
        let webp = BASE64.decode(browser.picture_of(clip)).unwrap();
        assert_eq!((&webp[..4], &webp[8..12]), (&b"RIFF"[..], &b"WEBP"[..]), "{}", picture.name);
        if is_update {
            std::fs::write(folder().join(file(picture)), webp).unwrap();
        }
    }
}
