//! Ten thousand mutations of sound inputs of every format: each is answered or refused, keeps its laws, and what the damage did
//! not touch is read as before.
//!
//! The work is done in a process of its own, which is this test called again, so that a hang and the use of memory are its
//! own. `BLKAN_MUTATION=NUMBER cargo test --release --test suite mutations:: -- --nocapture` does one of them again.

mod found;
mod inputs;
mod judge;
mod mutate;

use super::support::root;
use blkan::event::{BlockEvent, CommId};
use blkan::format::{Defect, ImportReport, SkipRule};
use blkan::units::Nanos;
use inputs::{Form, Sound};
use judge::Found;
use mutate::{Mutant, Rng};
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::path::Path;
use std::process::Command;
use std::sync::Mutex;
use std::sync::atomic::{AtomicU64, AtomicUsize, Ordering::Relaxed};
use std::time::{Duration, Instant};

const MUTATIONS: usize = 10_000;
/// Any would do; `BLKAN_SEED` gives another, and so other mutations.
const SEED: u64 = 20_240_229;
/// One mutation takes some ms; a busy machine may take longer.
const LIMIT: Duration = Duration::from_secs(30);
/// KiB of the whole process: two inputs at a time, of which each may unpack an xz stream that asks for 128 MiB.
const PEAK: u64 = 600 << 10;
const SEEDS: &str = "BLKAN_SEED";
const CALLS: &str = "BLKAN_MUTATION";
const TEST: &str = "mutations::ten_thousand_mutations_are_answered_or_refused";

#[test]
fn ten_thousand_mutations_are_answered_or_refused() {
    match std::env::var(CALLS) {
        Ok(which) if which == "all" => all(),
        Ok(number) => again(number.parse().expect("the number of a mutation")),
        Err(_) => in_a_process_of_its_own(),
    }
}

fn in_a_process_of_its_own() {
    let this = std::env::current_exe().expect("this test");
    let o = Command::new(this)
        .args(["--exact", TEST, "--nocapture"])
        .env(CALLS, "all")
        .current_dir(root())
        .output()
        .expect("this test runs again");
    let (out, err) = (
        String::from_utf8_lossy(&o.stdout),
        String::from_utf8_lossy(&o.stderr),
    );
    assert!(o.status.success(), "{:?}\n{out}\n{err}", o.status.code());
    let told = |word: &str| {
        let value = err.lines().find_map(|l| l.strip_prefix(word));
        value.and_then(|v| v.trim().parse::<u64>().ok())
    };
    assert_eq!(told("mutations:"), Some(MUTATIONS as u64), "{out}\n{err}");
    // A law that is never tried is none.
    for tried in [
        "answered:",
        "lines before the damage:",
        "lines behind the damage:",
    ] {
        assert!(told(tried) > Some(1000), "{tried} {:?}\n{err}", told(tried));
    }
    assert!(told("junk lines:") > Some(500), "{err}");
    match told("peak KiB:") {
        Some(kib) => assert!(kib < PEAK, "{kib} KiB"),
        None => println!("SKIPPED the bound of memory: this system does not tell it"),
    }
}

/// How much of what the laws speak of was met.
#[derive(Default)]
struct Tried {
    answered: AtomicU64,
    before: AtomicU64,
    behind: AtomicU64,
    junk: AtomicU64,
}

fn all() {
    let sound = originals();
    let dir = tempfile::tempdir().expect("a directory");
    let next = AtomicUsize::new(0);
    let failed = Mutex::new(Vec::new());
    let tried = Tried::default();
    let at: Vec<Mutex<Option<(usize, Instant)>>> = (0..2).map(|_| Mutex::new(None)).collect();
    // The words of a panic reach us by its payload; its place is told by a replay.
    std::panic::set_hook(Box::new(|_| {}));
    std::thread::scope(|s| {
        for (worker, slot) in at.iter().enumerate() {
            let (next, failed, sound, tried) = (&next, &failed, &sound, &tried);
            let dir = dir.path().join(worker.to_string());
            std::fs::create_dir(&dir).expect("a directory");
            s.spawn(move || {
                loop {
                    let n = next.fetch_add(1, Relaxed);
                    if n >= MUTATIONS {
                        *slot.lock().expect("a slot") = None;
                        return;
                    }
                    *slot.lock().expect("a slot") = Some((n, Instant::now()));
                    if let Err(words) = guarded(n, sound, &dir, tried) {
                        failed.lock().expect("the list").push(words);
                    }
                }
            });
        }
        s.spawn(|| watch(&at, &next));
    });
    let _ = std::panic::take_hook();
    let n = |c: &AtomicU64| c.load(Relaxed);
    eprintln!("mutations: {MUTATIONS}\nanswered: {}", n(&tried.answered));
    eprintln!("lines before the damage: {}", n(&tried.before));
    eprintln!(
        "lines behind the damage: {}\njunk lines: {}",
        n(&tried.behind),
        n(&tried.junk)
    );
    if let Some(kib) = peak() {
        eprintln!("peak KiB: {kib}");
    }
    let failed = failed.into_inner().expect("the list");
    let shown = failed
        .iter()
        .take(30)
        .cloned()
        .collect::<Vec<_>>()
        .join("\n");
    assert!(
        failed.is_empty(),
        "{} mutations broke a law:\n{shown}",
        failed.len()
    );
}

/// Ends the process if a mutation takes too long.
fn watch(at: &[Mutex<Option<(usize, Instant)>>], next: &AtomicUsize) {
    while next.load(Relaxed) < MUTATIONS + at.len() {
        std::thread::sleep(Duration::from_millis(20));
        for slot in at {
            let now = *slot.lock().expect("a slot");
            if let Some((n, since)) = now.filter(|t| t.1.elapsed() > LIMIT) {
                eprintln!("mutation {n} runs for {:?}; {}", since.elapsed(), replay(n));
                std::process::exit(1);
            }
        }
    }
}

fn replay(n: usize) -> String {
    let seed = seed();
    format!(
        "again: {SEEDS}={seed} {CALLS}={n} cargo test --release --test suite mutations:: -- --nocapture"
    )
}

fn peak() -> Option<u64> {
    let status = std::fs::read_to_string("/proc/self/status").ok()?;
    let line = status.lines().find_map(|l| l.strip_prefix("VmHWM:"))?;
    line.trim().strip_suffix("kB")?.trim().parse().ok()
}

/// Does one again, keeps its bytes, and lets a panic pass.
fn again(n: usize) {
    let sound = originals();
    let (s, _) = &sound[n % sound.len()];
    let kept = root().join("target/tmp");
    std::fs::create_dir_all(&kept).expect("a directory");
    let kept = kept.join(format!("mutation-{n}"));
    let mutant = mutant(n, s);
    std::fs::write(&kept, &mutant.bytes).expect("room");
    println!(
        "mutation {n} of {}: {}: {}",
        s.name,
        mutant.how,
        kept.display()
    );
    let dir = tempfile::tempdir().expect("a directory");
    if let Err(words) = one(n, &sound, dir.path(), &Tried::default()) {
        panic!("{words}");
    }
}

type Original = (Sound, Found);

/// Sound inputs and what they tell.
fn originals() -> Vec<Original> {
    let dir = tempfile::tempdir().expect("a directory");
    let read = |s: Sound| {
        let path = dir.path().join(s.file);
        std::fs::write(&path, &s.bytes).expect("room");
        let f =
            judge::read(&[path], &s.how(false, 1)).unwrap_or_else(|e| panic!("{}: {e}", s.name));
        assert_eq!(f.refused, None, "{}", s.name);
        assert_eq!(f.defects(), 0, "{}: {:?}", s.name, f.reports[0].defects);
        let named = f.reports[0].format == s.format.unwrap_or(&f.reports[0].format);
        assert!(
            named && !f.events.is_empty(),
            "{}: {}",
            s.name,
            f.reports[0].format
        );
        (s, f)
    };
    inputs::sound().into_iter().map(read).collect()
}

fn seed() -> u64 {
    let given = std::env::var(SEEDS).ok().and_then(|s| s.parse().ok());
    given.unwrap_or(SEED)
}

fn mutant(n: usize, s: &Sound) -> Mutant {
    let mut rng = Rng::new(seed().wrapping_mul(MUTATIONS as u64).wrapping_add(n as u64));
    mutate::mutate(&s.bytes, s.text(), &mut rng)
}

fn guarded(n: usize, sound: &[Original], dir: &Path, tried: &Tried) -> Result<(), String> {
    let (s, _) = &sound[n % sound.len()];
    let done = catch_unwind(AssertUnwindSafe(|| one(n, sound, dir, tried)));
    let words = match done {
        Ok(Ok(())) => return Ok(()),
        Ok(Err(words)) => words,
        Err(payload) => {
            let text = payload.downcast_ref::<String>().map(String::as_str);
            let text = text.or(payload.downcast_ref::<&str>().copied());
            format!("panics: {}", text.unwrap_or("without words"))
        }
    };
    let how = mutant(n, s).how;
    Err(format!(
        "mutation {n} ({}; {how}): {words}; {}",
        s.name,
        replay(n)
    ))
}

/// Mutates, reads, judges.
fn one(n: usize, sound: &[Original], dir: &Path, tried: &Tried) -> Result<(), String> {
    let (s, was) = &sound[n % sound.len()];
    let m = mutant(n, s);
    let path = dir.join(s.file);
    let turn = n / sound.len();
    // Sound packing around damaged text changes nothing.
    let bytes = match s.form != Form::Packed && turn % 8 == 5 {
        true => inputs::pack(&m.bytes, turn / 8),
        false => m.bytes.clone(),
    };
    std::fs::write(&path, bytes).map_err(|e| e.to_string())?;
    let named = turn.is_multiple_of(2);
    let found = judge::read(std::slice::from_ref(&path), &s.how(named, 1))?;
    if turn % 6 == 1 {
        let more = judge::read(&[path], &s.how(named, 2 + turn % 2))?;
        let same = more.events == found.events && more.refused == found.refused;
        if !same || format!("{:?}", more.reports) != format!("{:?}", found.reports) {
            return Err("threads change the answer".to_string());
        }
    }
    judge::judge(&found, n as u64)?;
    if turn % 4 == 2 {
        judge::rewritten(&found, &dir.join("rewritten"))?;
    }
    tried
        .answered
        .fetch_add(u64::from(found.refused.is_none()), Relaxed);
    match s.form {
        Form::Packed => packed(&m, s, was, &found),
        Form::Records { header, big } => {
            let whole = records_before(&s.bytes, &m.bytes, header, big);
            tried.before.fetch_add(whole, Relaxed);
            kept_before(was, &found, whole, true, m.cut || named)
        }
        _ => text(&m, s, was, &found, named, tried),
    }
}

/// A damaged stream is told, or harmless: all packings but xz without a check carry sums.
fn packed(m: &Mutant, s: &Sound, was: &Found, found: &Found) -> Result<(), String> {
    if found.refused.is_some() {
        return Ok(());
    }
    let told = found
        .reports
        .iter()
        .any(|r| r.defects.keys().any(|d| d.of_stream()));
    if !told && m.bytes != s.bytes {
        let doubled = found.events.len().is_multiple_of(was.events.len());
        if !doubled
            || (0..was.events.len()).any(|i| key(was, i, Nanos(0)) != key(found, i, Nanos(0)))
        {
            return Err(format!(
                "damage goes unseen: {} events, {} before",
                found.events.len(),
                was.events.len()
            ));
        }
    }
    if m.cut {
        let same =
            (0..found.events.len()).all(|i| key(was, i, Nanos(0)) == key(found, i, Nanos(0)));
        if !same {
            return Err("a cut stream gives other events than the whole one".to_string());
        }
    }
    Ok(())
}

/// What must be equal of an event, with its time from `zero` on.
fn key(f: &Found, i: usize, zero: Nanos) -> Option<(BlockEvent, Option<&[u8]>)> {
    let e = f.events.get(i)?;
    let bare = BlockEvent {
        comm: CommId::NONE,
        time: e.time - zero,
        ..*e
    };
    Some((bare, f.comm(e)))
}

/// Whole records at the start that both have.
fn records_before(was: &[u8], is: &[u8], header: usize, big: bool) -> u64 {
    let same = was.iter().zip(is).take_while(|(a, b)| a == b).count();
    let (mut at, mut n) = (0, 0);
    while let Some(len) = inputs::record(&was[at..same], header, big) {
        at += len;
        n += 1;
    }
    n
}

/// The events of lines that pass, in order of lines.
fn of_lines(f: &Found, keep: impl Fn(u64) -> bool) -> Vec<usize> {
    let kept = |i: &usize| f.events.get(*i).is_some_and(|e| keep(u64::from(e.line)));
    let mut all: Vec<usize> = (0..f.events.len()).filter(kept).collect();
    all.sort_by_key(|i| f.events[*i].line);
    all
}

/// The first `lines` lines or records give the same events as before.
fn kept_before(
    was: &Found,
    is: &Found,
    lines: u64,
    records: bool,
    sure: bool,
) -> Result<(), String> {
    let (mut a, b) = (of_lines(was, |l| l <= lines), of_lines(is, |l| l <= lines));
    // Which of the first two records has a wrong time, nothing tells.
    let odd = |r: &ImportReport| r.defects.contains_key(&Defect::BadTime);
    if records && is.reports.iter().any(odd) && a.len() == b.len() + 1 {
        a.remove(0);
    }
    if let Some(words) = &is.refused {
        let lost = !a.is_empty() && sure;
        return match lost {
            true => Err(format!(
                "{} sound events before the damage are refused: {words}",
                a.len()
            )),
            false => Ok(()),
        };
    }
    if a.len() != b.len() {
        return Err(format!(
            "{} events in the first {lines} lines, {} before the damage",
            b.len(),
            a.len()
        ));
    }
    // Binary times count from the first event, which damage behind may make another one.
    let zero = |f: &Found, all: &[usize]| match (records, all.first()) {
        (true, Some(i)) => f.events[*i].time,
        _ => Nanos(0),
    };
    let (za, zb) = (zero(was, &a), zero(is, &b));
    for (x, y) in a.iter().zip(&b) {
        let (mut x, mut y) = (key(was, *x, za), key(is, *y, zb));
        // A record that names a task counts for events before it that were not handed out yet.
        for (_, name) in [&mut x, &mut y].into_iter().flatten().filter(|_| records) {
            *name = None;
        }
        if x != y {
            return Err(format!("before the damage, {x:?} is read as {y:?}"));
        }
    }
    Ok(())
}

/// Lines that are damage, or may be the rest of an event of no interest, which a mailer wrapped.
fn told(f: &Found) -> u64 {
    let of = |r: &ImportReport, rule| r.skipped.get(&rule).copied().unwrap_or(0);
    let rests = |r| of(r, SkipRule::Wrapped) + of(r, SkipRule::OtherEvent);
    f.defects() + f.reports.iter().map(rests).sum::<u64>()
}

/// How many lines a text has.
fn lines(text: &[u8]) -> u64 {
    let ends = text.iter().filter(|b| **b == b'\n').count();
    (ends + usize::from(text.last().is_some_and(|b| *b != b'\n'))) as u64
}

/// The laws of text.
fn text(
    m: &Mutant,
    s: &Sound,
    was: &Found,
    is: &Found,
    named: bool,
    tried: &Tried,
) -> Result<(), String> {
    let n = lines(&m.bytes);
    if let Some(r) = is.reports.first().filter(|r| r.lines != n) {
        return Err(format!("{n} lines, {} accounted for", r.lines));
    }
    let same = |a: &u8, b: &u8| a == b;
    let head = s
        .bytes
        .iter()
        .zip(&m.bytes)
        .take_while(|(a, b)| same(a, b))
        .count();
    let before = s.bytes[..head].iter().filter(|b| **b == b'\n').count() as u64;
    tried.before.fetch_add(before, Relaxed);
    kept_before(was, is, before, false, m.cut || named || s.format.is_none())?;
    if is.refused.is_some() {
        return Ok(());
    }
    if m.junk > 0 {
        tried.junk.fetch_add(m.junk, Relaxed);
        let told = told(is).saturating_sub(told(was));
        if told < m.junk {
            return Err(format!("{} lines of junk, {told} told", m.junk));
        }
    }
    if s.form != Form::Lines {
        return Ok(());
    }
    let most = s.bytes.len().min(m.bytes.len()) - head;
    let back = s.bytes.iter().rev().zip(m.bytes.iter().rev());
    let tail = back.take(most).take_while(|(a, b)| same(a, b)).count();
    let tail = &m.bytes[m.bytes.len() - tail..];
    let behind = tail
        .iter()
        .position(|b| *b == b'\n')
        .map_or(0, |i| lines(&tail[i + 1..]));
    tried.behind.fetch_add(behind, Relaxed);
    kept_behind(was, is, (lines(&s.bytes), n), behind)
}

/// The last `lines` lines give the same events as before.
fn kept_behind(
    was: &Found,
    is: &Found,
    (before, now): (u64, u64),
    lines: u64,
) -> Result<(), String> {
    let a = of_lines(was, |l| l > before - lines);
    let b = of_lines(is, |l| l > now - lines);
    if a.len() != b.len() {
        return Err(format!(
            "{} events in the last {lines} lines, {} before the damage",
            b.len(),
            a.len()
        ));
    }
    let moved = now as i64 - before as i64;
    for (x, y) in a.iter().zip(&b) {
        let (Some((mut x, name)), Some((y, named))) =
            (key(was, *x, Nanos(0)), key(is, *y, Nanos(0)))
        else {
            continue;
        };
        x.line = u32::try_from(i64::from(x.line) + moved).unwrap_or(u32::MAX);
        if (x, name) != (y, named) {
            return Err(format!("behind the damage, {x:?} is read as {y:?}"));
        }
    }
    Ok(())
}
