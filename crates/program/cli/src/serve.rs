//! What `howlate serve` takes.

use std::path::PathBuf;

use clap::{Args, ValueHint};
use howlate_serve::ListenAddress;

/// Serve metrics for Prometheus, and the report's page, over HTTP
///
/// Of saved recordings, read again when they change; of a folder, whatever is put there; of one of howlate record, what it records
/// from now on, and the page of the last day; or of a running program, live.
/// The page is at /, the metrics are at /metrics. Ctrl-C ends it.
#[derive(Args)]
#[command(after_help = "Examples:\n  \
howlate serve\n  \
howlate serve results/\n  \
howlate serve /var/lib/howlate\n  \
howlate serve --process ros2_control_no\n  \
howlate serve results/ --listen 0.0.0.0 --token-file howlate.token\n\n\
Whoever is to read it from another machine must know a token, as Prometheus' `credentials_file` holds it: \
(umask 077; openssl rand -hex 32 > howlate.token). A browser needs none through a tunnel: ssh -L 9840:localhost:9840 HOST.")]
pub struct ServeArgs {
    /// Recordings [default: whatever is the most recent run]
    #[arg(value_name = "RECORDING", conflicts_with = "process")]
    pub recordings: Vec<PathBuf>,
    /// Watch a running process, by id or name, and serve what is known of it so far
    #[arg(long, alias = "watch", value_name = "PID|NAME")]
    pub process: Option<String>,
    /// Address, with or without a port, to listen to; port 0 is any that is free
    #[arg(long, value_name = "ADDRESS", default_value = "127.0.0.1:9840")]
    pub listen: ListenAddress,
    /// Require the token in this file, sent as `Authorization: Bearer TOKEN`
    #[arg(long, value_name = "FILE", value_hint = ValueHint::FilePath)]
    pub token_file: Option<PathBuf>,
    /// Serve every host that can connect, without a token
    #[arg(long, alias = "open", conflicts_with = "token_file")]
    pub no_auth: bool,
    /// Print the addresses for programs, as JSON
    #[arg(long)]
    pub json: bool,
}
