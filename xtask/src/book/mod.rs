//! `cargo xtask book`: docs/ as pages for a browser, made by mdBook into `target/book`.
//!
//! Pages link each other as a forge shows them, also out of docs/. For the book, docs/ and what is linked outside of it
//! are put into one folder, with links to where things are there.

mod links;
mod options;
mod source;
mod tables;

use std::ffi::OsStr;
use std::fs;
use std::io;
use std::path::Path;
use std::process::{Command, ExitCode};

use crate::cross;
use crate::tools::Tool;

/// What makes the book.
const MDBOOK: Tool =
    Tool { name: "mdbook", version: "0.5.4", options: &["--no-default-features", "--features", "search"] };

/// Makes it; says where, and which links lead nowhere.
pub fn run() -> ExitCode {
    match cross::root().and_then(|root| make(&root)) {
        Ok(dead) if dead.is_empty() => ExitCode::SUCCESS,
        Ok(dead) => {
            dead.iter().for_each(|link| eprintln!("error: {link}"));
            ExitCode::FAILURE
        }
        Err(error) => {
            eprintln!("error: {error}");
            ExitCode::from(2)
        }
    }
}

fn make(root: &Path) -> io::Result<Vec<String>> {
    let target = cross::target_folder(root);
    let (source, book) = (target.join("book-source"), target.join("book"));
    source::write(root, &source)?;
    let mut mdbook = Command::new(MDBOOK.provide(&target)?);
    mdbook.args(["build", "--dest-dir"]).arg(&book).env("MDBOOK_BOOK__SRC", &source).current_dir(root);
    if !mdbook.status()?.success() {
        return Err(io::Error::other("mdbook failed"));
    }
    each_page(&book, &|html| tables::labelled(&options::whole(html)))?;
    println!("{}", book.join("index.html").display());
    links::dead(&book)
}

/// Changes every page below `folder`.
fn each_page(folder: &Path, change: &dyn Fn(&str) -> String) -> io::Result<()> {
    for entry in fs::read_dir(folder)? {
        let path = entry?.path();
        if path.is_dir() {
            each_page(&path, change)?;
        } else if path.extension() == Some(OsStr::new("html")) {
            fs::write(&path, change(&fs::read_to_string(&path)?))?;
        }
    }
    Ok(())
}
