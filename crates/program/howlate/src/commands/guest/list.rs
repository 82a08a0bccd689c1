//! `howlate guest --list`: Debian's kernels on the mirror that this machine uses.

use howlate_guest::{Architecture, ListedKernel, debian_kernels};
use howlate_render::{KernelRow, kernel_list};
use serde_json::json;

use crate::error::Error;
use crate::exit_status::ExitStatus;
use crate::terminal;
use howlate_cli::GuestArgs;

pub(super) fn run(args: &GuestArgs) -> Result<ExitStatus, Error> {
    let architecture = args.arch.unwrap_or(Architecture::HERE);
    let kernels = debian_kernels(architecture, &mut |text| terminal::eprint(text))?;
    let text = if args.printing.json { json(&kernels)? } else { table(&kernels) };
    terminal::print_or_json(&text, args.printing.json)?;
    Ok(ExitStatus::Done)
}

fn table(kernels: &[ListedKernel]) -> String {
    let row = |kernel: &ListedKernel| KernelRow {
        suite: kernel.suite.clone(),
        kind: kernel.flavour.name().to_owned(),
        argument: kernel.requested.to_string(),
        release: kernel.release.clone(),
        package: kernel.package.clone(),
        is_downloaded: kernel.is_cached,
    };
    kernel_list(&kernels.iter().map(row).collect::<Vec<_>>(), terminal::width())
}

fn json(kernels: &[ListedKernel]) -> Result<String, Error> {
    let kernel_json = |kernel: &ListedKernel| {
        json!({
            "suite": kernel.suite,
            "kind": kernel.flavour.name(),
            "asked": kernel.requested.to_string(),
            "release": kernel.release,
            "package": kernel.package,
            "version": kernel.version,
            "kept": kernel.is_cached,
        })
    };
    let kernels: Vec<_> = kernels.iter().map(kernel_json).collect();
    let document =
        json!({"format": 1, "howlate": env!("CARGO_PKG_VERSION"), "command": "guest", "kernels": kernels});
    Ok(serde_json::to_string_pretty(&document)? + "\n")
}
