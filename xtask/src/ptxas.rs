//! Reading what the assembler says of a kernel (`ptxas -v`).

use fa3_sys::artefact::Resources;

/// Advisories that are accepted, each with the reason. The code stands in parentheses at the
/// beginning of the message: `(C7510)`.
const ACCEPTED: &[(&str, &str)] = &[];

/// What the assembler said.
#[derive(Debug, Default, PartialEq, Eq)]
pub(crate) struct Report {
    pub(crate) resources: Resources,
    /// Why the kernel is refused; empty when it is not.
    pub(crate) complaints: Vec<String>,
}

/// Reads the output of compiling and assembling one kernel called `symbol`.
///
/// Refused are: a stack frame, a spill, any warning, any advisory with a code (an ignored
/// `setmaxnreg`, C7508, and serialised `wgmma`, C7510 to C7519, come as mere information), an
/// output that tells no resources, and a file with another kernel than `symbol`.
pub(crate) fn parse(output: &str, symbol: &str) -> Report {
    let mut report = Report::default();
    let mut entries = Vec::new();
    let mut used = false;
    for line in output.lines() {
        let message = message(line);
        if let Some(rest) = message.strip_prefix("Compiling entry function '") {
            entries.extend(rest.split('\'').next());
        } else if line.contains(" bytes stack frame") {
            report.resources.stack_bytes += number_before(line, " bytes stack frame");
            report.resources.spill_bytes +=
                number_before(line, " bytes spill stores") + number_before(line, " bytes spill loads");
        } else if message.starts_with("Used ") && message.contains(" registers") {
            used = true;
            report.resources.registers = number_before(message, " registers");
            report.resources.static_shared_bytes = number_before(message, " bytes smem");
        } else if is_refused(line) {
            report.complaints.push(line.trim().to_owned());
        }
    }
    let Resources { stack_bytes, spill_bytes, .. } = report.resources;
    if stack_bytes > 0 {
        report.complaints.push(format!("it has a stack frame of {stack_bytes} bytes"));
    }
    if spill_bytes > 0 {
        report.complaints.push(format!("it spills registers: {spill_bytes} bytes of stores and loads"));
    }
    if entries != [symbol] {
        report
            .complaints
            .push(format!("the source has to define the one kernel `{symbol}`, and has {entries:?}"));
    }
    if !used {
        report.complaints.push("the assembler reported no register count".to_owned());
    }
    report
}

/// Whether a line of a compiler's output is a warning or an advisory that is not accepted.
pub(crate) fn is_refused(line: &str) -> bool {
    let message = message(line);
    let code = message.strip_prefix('(').and_then(|rest| rest.split_once(')')).map(|(code, _)| code);
    let advisory = code.is_some_and(|code| {
        code.strip_prefix('C').is_some_and(|digits| digits.bytes().all(|byte| byte.is_ascii_digit()))
    });
    if advisory && ACCEPTED.iter().any(|(accepted, _)| Some(*accepted) == code) {
        return false;
    }
    advisory || line.to_ascii_lowercase().contains("warning")
}

/// What follows `ptxas info    : `.
fn message(line: &str) -> &str {
    line.split_once(" : ").map_or(line, |(_, message)| message).trim()
}

/// The number that stands directly before `unit`, zero when there is none.
fn number_before(text: &str, unit: &str) -> u32 {
    let Some((before, _)) = text.split_once(unit) else {
        return 0;
    };
    let digits = before.rsplit(|character: char| !character.is_ascii_digit()).next();
    digits.and_then(|digits| digits.parse().ok()).unwrap_or(0)
}

#[cfg(test)]
mod tests {
    use super::*;

    const CLEAN: &str = "\
ptxas info    : 0 bytes gmem
ptxas info    : Compiling entry function 'k' for 'sm_90a'
ptxas info    : Function properties for k
    0 bytes stack frame, 0 bytes spill stores, 0 bytes spill loads
ptxas info    : Used 168 registers, used 16 barriers, 1024 bytes smem
ptxas info    : Compile time = 691.690 ms
";

    fn complaints(output: &str) -> Vec<String> {
        parse(output, "k").complaints
    }

    #[test]
    fn a_clean_kernel() {
        let resources =
            Resources { registers: 168, static_shared_bytes: 1024, stack_bytes: 0, spill_bytes: 0 };
        assert_eq!(parse(CLEAN, "k"), Report { resources, complaints: Vec::new() });
    }

    #[test]
    fn stack_frames_and_spills() {
        let output = CLEAN.replace("0 bytes stack frame, 0", "32 bytes stack frame, 48");
        let report = parse(&output, "k");
        assert_eq!((report.resources.stack_bytes, report.resources.spill_bytes), (32, 48));
        assert!(report.complaints[0].contains("stack frame of 32 bytes"), "{report:?}");
        assert!(report.complaints[1].contains("spills registers: 48"), "{report:?}");
    }

    #[test]
    fn a_stack_frame_of_a_function_that_was_not_inlined_counts() {
        let function = "ptxas info    : Function properties for helper\n    \
                        16 bytes stack frame, 0 bytes spill stores, 4 bytes spill loads\n";
        let report = parse(&format!("{CLEAN}{function}"), "k");
        assert_eq!((report.resources.stack_bytes, report.resources.spill_bytes), (16, 4));
    }

    #[test]
    fn every_advisory_code_is_refused() {
        for code in (7508..=7508).chain(7510..=7519).chain([7600]) {
            let line =
                format!("ptxas info    : (C{code}) Potential Performance Loss: something in function 'k'");
            assert_eq!(complaints(&format!("{line}\n{CLEAN}")), [line]);
        }
    }

    #[test]
    fn every_warning_is_refused() {
        for line in [
            "ptxas warning : Value of threads per SM for entry k is out of range",
            "ptxas /tmp/k.ptx, line 7; warning : Instruction is deprecated",
            "kernels/k.cu(12): warning #177-D: variable \"x\" was declared but never referenced",
            "nvcc warning : The option is deprecated",
        ] {
            assert_eq!(complaints(&format!("{line}\n{CLEAN}")), [line]);
        }
    }

    #[test]
    fn exactly_the_named_kernel() {
        assert!(parse(CLEAN, "other").complaints[0].contains("the one kernel `other`"));
        let two = CLEAN.to_owned() + &CLEAN.replace("'k'", "'second'");
        assert!(complaints(&two)[0].contains("\"second\""));
        assert!(complaints("").iter().any(|complaint| complaint.contains("no register count")));
    }
}
