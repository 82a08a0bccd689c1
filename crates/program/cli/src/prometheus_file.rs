//! The name of a file for node_exporter's textfile collector.

use std::path::PathBuf;

use clap::builder::{OsStringValueParser, TypedValueParser};

/// A name that the collector reads: it takes files whose names end in `.prom`, and no others, without a word.
///
/// Source: README of node_exporter, "Textfile Collector".
pub(crate) fn prometheus_file() -> impl TypedValueParser<Value = PathBuf> {
    OsStringValueParser::new().try_map(|name| {
        let path = PathBuf::from(&name);
        match path.extension().is_some_and(|ending| ending == "prom") {
            true => Ok(path),
            false => Err(format!(
                "node_exporter reads only files whose names end in `.prom`: write `{}`",
                path.with_extension("prom").display()
            )),
        }
    })
}
