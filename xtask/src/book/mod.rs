//! `cargo xtask book`: builds docs/ as a book with mdBook, into `target/book`.
//!
//! Links in docs/ work on GitHub, also to files outside of docs/. For the book, docs/ and these files are copied into one
//! folder, and the links are adapted.

mod html;
mod links;
mod source;

use std::ffi::OsStr;
use std::fs;
use std::io;
use std::path::Path;
use std::process::{Command, ExitCode};

use crate::cross;
use crate::packages::CargoTool;

const MDBOOK: CargoTool = CargoTool {
    name: "mdbook",
    version: "0.5.4",
    options: &["--no-default-features", "--features", "search"],
};

/// Builds the book; prints its path, and broken links.
pub fn run() -> ExitCode {
    match cross::root().and_then(|root| build(&root)) {
        Ok(broken) if broken.is_empty() => ExitCode::SUCCESS,
        Ok(broken) => {
            broken.iter().for_each(|link| eprintln!("error: {link}"));
            ExitCode::FAILURE
        }
        Err(error) => {
            eprintln!("error: {error}");
            ExitCode::from(2)
        }
    }
}

/// Returns the broken links.
fn build(root: &Path) -> io::Result<Vec<String>> {
    let target = cross::target_folder(root);
    let (source, book) = (target.join("book-source"), target.join("book"));
    source::write(root, &source)?;
    let mut mdbook = Command::new(MDBOOK.provide(&target)?);
    mdbook.args(["build", "--dest-dir"]).arg(&book).env("MDBOOK_BOOK__SRC", &source).current_dir(root);
    if !mdbook.status()?.success() {
        return Err(io::Error::other("mdbook failed"));
    }
    rewrite_pages(&book, &|page| html::label_cells(&html::mark_options(page)))?;
    println!("{}", book.join("index.html").display());
    links::broken_links(&book)
}

/// Changes every page below `folder`.
fn rewrite_pages(folder: &Path, change: &dyn Fn(&str) -> String) -> io::Result<()> {
    for entry in fs::read_dir(folder)? {
        let path = entry?.path();
        if path.is_dir() {
            rewrite_pages(&path, change)?;
        } else if path.extension() == Some(OsStr::new("html")) {
            fs::write(&path, change(&fs::read_to_string(&path)?))?;
        }
    }
    Ok(())
}
