//! `howlate guest --list`: Debian's kernels on this machine's mirror.

use howlate_guest::{Architecture, ListedKernel, debian_kernels};
use howlate_render::{KernelRow, kernel_list};
use serde_json::json;

use crate::error::Error;
use crate::exit_status::Status;
use crate::terminal;
use howlate_cli::GuestArgs;

pub(super) fn run(args: &GuestArgs) -> Result<Status, Error> {
    let architecture = args.arch.unwrap_or(Architecture::HERE);
    let kernels = debian_kernels(architecture, &mut |text| terminal::say(text))?;
    let text = if args.printing.json { json(&kernels)? } else { table(&kernels) };
    terminal::print_or_json(&text, args.printing.json)?;
    Ok(Status::Done)
}

fn table(kernels: &[ListedKernel]) -> String {
    let row = |one: &ListedKernel| KernelRow {
        suite: one.suite.clone(),
        kind: one.flavour.name().to_owned(),
        asked: one.asked.to_string(),
        release: one.release.clone(),
        package: one.package.clone(),
        kept: one.kept,
    };
    kernel_list(&kernels.iter().map(row).collect::<Vec<_>>(), terminal::width())
}

fn json(kernels: &[ListedKernel]) -> Result<String, Error> {
    let kernel = |one: &ListedKernel| {
        json!({
            "suite": one.suite,
            "kind": one.flavour.name(),
            "asked": one.asked.to_string(),
            "release": one.release,
            "package": one.package,
            "version": one.version,
            "kept": one.kept,
        })
    };
    let kernels: Vec<_> = kernels.iter().map(kernel).collect();
    let document =
        json!({"format": 1, "howlate": env!("CARGO_PKG_VERSION"), "command": "guest", "kernels": kernels});
    Ok(serde_json::to_string_pretty(&document)? + "\n")
}
