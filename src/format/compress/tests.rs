use super::*;
use crate::format::input;
use std::io::Write;

const XZ: &str = "fd377a585a000004e6d6b446020021011c00000010cf58cce0034700205d0030880a2793bb7246367679283f70d5ac63b6197eaf2abb6a9b897d6d5f15138000bf4dcda516379b3b00013cc806000000cdefe34cb1c467fb020000000004595a";
const XZ_SECOND: &str = "fd377a585a000004e6d6b4460200210116000000742fe5a301000d7365636f6e642073747265616d0a00000074006ee282a31f860001260e081be0041fb6f37d010000000004595a";
const ZSTD: &str =
    "28b52ffd0468e50000a86120717569636b206c696e65206f6620746578740a0100616235994efce0b9";

fn hex(text: &str) -> Vec<u8> {
    let digits = text.as_bytes().chunks(2);
    digits
        .map(|d| u8::from_str_radix(std::str::from_utf8(d).expect("ascii"), 16).expect("hex"))
        .collect()
}

fn plain() -> Vec<u8> {
    b"a quick line of text\n".repeat(40)
}

/// Text that does not shrink to nothing, so that cutting it cuts somewhere.
fn long_text() -> Vec<u8> {
    let mut x = 1u64;
    let mut next = || {
        x = x
            .wrapping_mul(6364136223846793005)
            .wrapping_add(1442695040888963407);
        x >> 40
    };
    (0..8000)
        .flat_map(|i| format!("{i} {}\n", next()).into_bytes())
        .collect()
}

fn gzip(data: &[u8]) -> Vec<u8> {
    let mut e = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::default());
    e.write_all(data).expect("a vector takes all");
    e.finish().expect("a vector takes all")
}

fn bzip2(data: &[u8]) -> Vec<u8> {
    let mut e = ::bzip2::write::BzEncoder::new(Vec::new(), ::bzip2::Compression::fast());
    e.write_all(data).expect("a vector takes all");
    e.finish().expect("a vector takes all")
}

fn zstd(data: &[u8]) -> Vec<u8> {
    ruzstd::encoding::compress_to_vec(data, ruzstd::encoding::CompressionLevel::Fastest)
}

/// Everything a stream gives, and its fault.
fn unpack(bytes: &[u8]) -> (Vec<u8>, Compression, Option<Fault>) {
    let (raw, tap) = input::RawReader::new(Box::new(std::io::Cursor::new(bytes.to_vec())));
    let opened = input::Opened {
        raw,
        tap,
        regular: true,
    };
    let mut input = match decode(Path::new("t"), opened) {
        Ok(input) => input,
        Err(e) => panic!("{e}"),
    };
    let mut out = Vec::new();
    let mut part = vec![0; 10_000];
    loop {
        match input.read(&mut part) {
            Ok(0) => return (out, input.compression, None),
            Ok(n) => out.extend_from_slice(&part[..n]),
            Err(fault) => return (out, input.compression, Some(fault)),
        }
    }
}

#[test]
fn every_compression_is_recognised_and_unpacked() {
    let text = plain();
    for (packed, kind) in [
        (text.clone(), Compression::None),
        (gzip(&text), Compression::Gzip),
        (hex(ZSTD), Compression::Zstd),
        (zstd(&text), Compression::Zstd),
        (hex(XZ), Compression::Xz),
        (bzip2(&text), Compression::Bzip2),
    ] {
        let (out, found, fault) = unpack(&packed);
        assert_eq!((found, fault.is_none()), (kind, true), "{fault:?}");
        assert!(out == text, "{kind:?}");
    }
}

#[test]
fn many_members_are_one_text() {
    let (a, b) = (plain(), b"second stream\n".to_vec());
    let both = [a.clone(), b.clone()].concat();
    let skippable = [0x52, 0x2a, 0x4d, 0x18, 3, 0, 0, 0, 9, 9, 9].to_vec();
    for packed in [
        [gzip(&a), gzip(&b)].concat(),
        [gzip(&a), gzip(b""), gzip(&b)].concat(),
        [bzip2(&a), bzip2(&b)].concat(),
        [hex(XZ), hex(XZ_SECOND)].concat(),
        [hex(XZ), vec![0; 8], hex(XZ_SECOND)].concat(),
        [skippable.clone(), zstd(&a), skippable, zstd(&b)].concat(),
    ] {
        let (out, kind, fault) = unpack(&packed);
        assert!(out == both && fault.is_none(), "{kind:?} {fault:?}");
    }
}

#[test]
fn padding_is_fine_and_garbage_is_told() {
    let text = plain();
    let (out, _, fault) = unpack(&[gzip(&text), vec![0; 1000]].concat());
    assert!(out == text && fault.is_none());
    for junk in [&b"junk"[..], b"\0\0junk", b"\x1fjunk"] {
        let (out, _, fault) = unpack(&[gzip(&text), junk.to_vec()].concat());
        assert!(out == text);
        assert!(matches!(fault, Some(Fault::Corrupt(_))), "{fault:?}");
    }
}

#[test]
fn a_cut_stream_gives_what_it_had_and_says_where() {
    let text = long_text();
    for (packed, least) in [(gzip(&text), 30), (bzip2(&text), 0), (zstd(&text), 0)] {
        for cut in [packed.len() / 2, packed.len() - 1, packed.len() - 6] {
            let (out, kind, fault) = unpack(&packed[..cut]);
            assert!(text.starts_with(&out), "{kind:?} at {cut}");
            let percent = out.len() * 100 / text.len();
            assert!(percent >= least, "{kind:?} at {cut}: {percent} %");
            assert!(
                matches!(fault, Some(Fault::Truncated(_))),
                "{kind:?}: {fault:?}"
            );
        }
    }
    let (out, _, fault) = unpack(&gzip(&text)[..100]);
    assert!(text.starts_with(&out));
    match fault {
        Some(Fault::Truncated(t)) => assert!(t.contains("byte 100"), "{t}"),
        other => panic!("{other:?}"),
    }
}

#[test]
fn zstd_gives_out_its_window_before_the_fault() {
    let text = long_text();
    let packed = zstd(&text);
    let (out, _, fault) = unpack(&packed[..packed.len() - 3]);
    assert!(text.starts_with(&out) && fault.is_some());
    assert!(
        text.len() - out.len() <= 128 << 10,
        "at most a block is lost, not the whole window"
    );
}

#[test]
fn a_flipped_byte_is_noticed_and_nothing_false_is_added() {
    let text = plain();
    for packed in [gzip(&text), bzip2(&text), hex(ZSTD), hex(XZ)] {
        let kind = Compression::of(&packed);
        for at in 0..packed.len() {
            let mut bad = packed.clone();
            bad[at] ^= 0x41;
            if Compression::of(&bad) != kind {
                continue;
            }
            let (out, _, fault) = unpack(&bad);
            // gzip's time, flags and names, and zstd's window size, may change without harm.
            assert!(
                out == text || fault.is_some(),
                "{kind:?} byte {at}: {} bytes",
                out.len()
            );
        }
    }
}

#[test]
fn an_absurd_xz_dictionary_is_refused_wherever_it_comes() {
    // The dictionary byte of LZMA2 stands at 16; the header's CRC-32 at 20.
    let mut bad = hex(XZ);
    bad[16] = 40;
    let mut crc = flate2::Crc::new();
    crc.update(&bad[12..20]);
    bad[20..24].copy_from_slice(&crc.sum().to_le_bytes());
    for (packed, least) in [(bad.clone(), 0), ([hex(XZ), bad].concat(), plain().len())] {
        let (out, _, fault) = unpack(&packed);
        assert!(out.len() <= least && plain().starts_with(&out));
        match fault {
            Some(Fault::Huge(t)) => assert!(t.contains("more than 128 MiB"), "{t}"),
            other => panic!("{other:?}"),
        }
    }
}

#[test]
fn a_great_many_empty_xz_streams_are_no_trouble() {
    // `xz </dev/null`.
    let empty = hex("fd377a585a000004e6d6b446000000001cdf44211fb6f37d010000000004595a");
    let (out, _, fault) = unpack(&[empty.repeat(100_000), hex(XZ)].concat());
    assert!(out == plain() && fault.is_none(), "{fault:?}");
}

#[test]
fn a_cut_skippable_frame_is_told() {
    let packed = [hex(ZSTD), b"\x50\x2a\x4d\x18\xff\0\0\0abc".to_vec()].concat();
    let (out, _, fault) = unpack(&packed);
    assert!(out == plain());
    match fault {
        Some(Fault::Truncated(t)) => assert!(t.contains("3 of 255"), "{t}"),
        other => panic!("{other:?}"),
    }
}
