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
use std::path::{Path, PathBuf};
use std::process::{Command, ExitCode};

use crate::cross;

/// What makes the book where there is no other.
const MDBOOK: &str = "0.5.4";

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
    let mut mdbook = Command::new(program(&target)?);
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

/// mdBook: that of this machine, or one that is installed once below `target`.
fn program(target: &Path) -> io::Result<PathBuf> {
    let is_there = |program: &Path| Command::new(program).arg("--version").output().is_ok();
    let (theirs, tools) = (PathBuf::from("mdbook"), target.join("tools"));
    let ours = tools.join("bin/mdbook");
    if let Some(found) = [theirs, ours.clone()].into_iter().find(|program| is_there(program)) {
        return Ok(found);
    }
    let mut cargo = Command::new(env!("CARGO"));
    cargo.args([
        "install",
        "mdbook",
        "--version",
        MDBOOK,
        "--locked",
        "--no-default-features",
        "--features",
        "search",
    ]);
    match cargo.arg("--root").arg(&tools).status()?.success() {
        true => Ok(ours),
        false => Err(io::Error::other("mdbook is not on the path and could not be installed by cargo")),
    }
}
