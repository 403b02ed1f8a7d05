//! The command.

fn main() -> std::process::ExitCode {
    blkan::cli::main()
}
