//! The name of a file to write.

use std::path::PathBuf;

use clap::builder::{OsStringValueParser, TypedValueParser};

/// The name of a file to write, whatever its bytes. `-` is none: standard output has the result already.
pub fn file_name() -> impl TypedValueParser<Value = PathBuf> {
    OsStringValueParser::new().try_map(|name| match name == "-" {
        true => Err(NOT_STANDARD_OUTPUT),
        false => Ok(PathBuf::from(name)),
    })
}

/// Why `-` is no name of a file to write.
pub(super) const NOT_STANDARD_OUTPUT: &str = "standard output is for the result; `/dev/stdout` writes the recording there as well, `./-` a file of this name";
