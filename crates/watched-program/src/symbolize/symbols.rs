//! The name of a function in an executable file, by its symbols.

use std::fs::File;

use object::{Object, ObjectSegment, ObjectSymbol, ReadCache, SymbolKind};

/// The function at this place in a file; `None` where it has no symbol, or the file is none that is executed.
pub(super) fn function_at(file: File, offset: u64) -> Option<String> {
    let read = ReadCache::new(file);
    let object = object::File::parse(&read).ok()?;
    let address = object.segments().find_map(|segment| {
        let (from, length) = segment.file_range();
        (from..from.saturating_add(length)).contains(&offset).then(|| segment.address() + (offset - from))
    })?;
    let is_there = |one: &object::Symbol<'_, '_, &ReadCache<File>>| {
        let range = one.address()..one.address().saturating_add(one.size());
        one.kind() == SymbolKind::Text && range.contains(&address)
    };
    let found = object.symbols().find(is_there).or_else(|| object.dynamic_symbols().find(is_there))?;
    found.name().ok().map(without_version)
}

/// `nanosleep@@GLIBC_2.17` is `nanosleep`.
fn without_version(name: &str) -> String {
    let name = name.split('@').next().unwrap_or(name);
    format!("{:#}", rustc_demangle::demangle(name))
}
