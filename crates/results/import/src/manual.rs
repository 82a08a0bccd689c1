//! The manual's table of formats, made of the formats themselves.

use crate::formats::FORMATS;

/// What stands between these lines in `docs/imports.md` is made here.
const MARKS: [&str; 2] = ["<!-- formats: begin -->\n", "<!-- formats: end -->\n"];

/// A row for each format.
fn formats_table() -> String {
    let row =
        |file: &str, written_by: &str, becomes: &str| format!("| {file} | {written_by} | {becomes} |\n");
    let rows = FORMATS.iter().map(|item| row(item.file, item.written_by, item.becomes));
    let head = row("file", "written by", "what it becomes") + "|---|---|---|\n";
    head + &rows.collect::<String>()
}

#[cfg(test)]
mod tests {
    use super::*;

    const PAGE: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../../../docs/imports.md");

    /// `HOWLATE_UPDATE=1` writes it anew.
    #[test]
    fn the_manual_has_every_format() {
        let page = std::fs::read_to_string(PAGE).unwrap();
        let (before, rest) = page.split_once(MARKS[0]).expect("the page has a table");
        let (_, after) = rest.split_once(MARKS[1]).expect("the table has an end");
        let made = [before, MARKS[0], &formats_table(), MARKS[1], after].concat();
        if std::env::var_os("HOWLATE_UPDATE").is_some() {
            std::fs::write(PAGE, &made).unwrap();
        }
        assert!(page == made, "the table is not of these formats: HOWLATE_UPDATE=1 writes it anew");
    }
}
