//! Damage at any place of any file.

use super::*;

/// Given many copies of a store, each damaged somewhere at random (bytes, zeros, cuts, swapped and missing files), all of
/// them open in time, and what they show was once committed. `EDDY_DAMAGE` says how many; the default is few.
#[tokio::test]
async fn a_store_opens_whatever_is_damaged() {
    let mutations: u64 = std::env::var("EDDY_DAMAGE").map_or(60, |text| text.parse().unwrap());
    let (dir, before) = filled(&with_snapshots()).await;
    let (mut mended, mut slowest, mut whole) = (0, Duration::ZERO, 0);
    for seed in 0..mutations {
        let copied = TempDir::new().unwrap();
        copy(dir.path(), copied.path());
        let what = mutate(copied.path(), seed);
        let began = Instant::now();
        if what.starts_with("FORMAT") {
            // A number that is another one is a format that is not ours to read.
            let opened = Store::open(copied.path(), &options());
            let other = |error: &StoreError| error.to_string().contains("has format");
            assert!(opened.as_ref().err().is_none_or(other), "{what}");
            continue;
        }
        let store = Store::open(copied.path(), &options())
            .unwrap_or_else(|error| panic!("{seed}: {what}: {error}"));
        slowest = slowest.max(began.elapsed());
        mended += u32::from(store.mended().is_some());
        let runs = store.run_ids_oldest_first(None, 99).unwrap_or_default();
        assert!(
            runs.iter().all(|run| before.runs.contains(run)),
            "{seed}: {what}"
        );
        // Damage that shows only now is noted, and the next opening mends it.
        let read = (0..RUNS).map(|run| state(&store, run));
        let read: Vec<_> = read.collect();
        let store = if read.iter().any(Result::is_err) {
            drop(store);
            Store::open(copied.path(), &options())
                .unwrap_or_else(|error| panic!("{seed}: {what}: {error}"))
        } else {
            store
        };
        let states: Vec<_> = (0..RUNS).map(|run| state(&store, run).unwrap()).collect();
        whole += u32::from(states == before.states);
        assert!(
            states
                .iter()
                .zip(&before.states)
                .all(|(now, then)| now.is_none() || now == then),
            "{seed}: {what}"
        );
        store.commit(idle("run", 1)).await.unwrap();
    }
    println!(
        "{mutations} mutations: {mended} mended at once, {whole} without a loss, slowest opening {slowest:?}"
    );
    assert!(slowest < Duration::from_secs(5), "{slowest:?}");
}

/// Damages one file of a directory. Says how.
fn mutate(dir: &Path, seed: u64) -> String {
    let mut dice = seed.wrapping_mul(0x9e37_79b9_7f4a_7c15) | 1;
    let mut below = |limit: usize| {
        dice ^= dice << 13;
        dice ^= dice >> 7;
        dice ^= dice << 17;
        (dice % limit.max(1) as u64) as usize
    };
    let mut files = Vec::new();
    collect(dir, &mut files);
    files.sort();
    let victim = files[below(files.len())].clone();
    let other = files[below(files.len())].clone();
    let mut bytes = fs::read(&victim).unwrap();
    let name = victim.strip_prefix(dir).unwrap().display().to_string();
    let kind = below(6);
    let at = below(bytes.len());
    match kind {
        0 if !bytes.is_empty() => bytes[at] ^= 1 << below(8),
        1 => bytes
            .iter_mut()
            .skip(at)
            .take(4096)
            .for_each(|byte| *byte = 0),
        2 => bytes.truncate(at),
        3 => bytes = fs::read(&other).unwrap(),
        4 => bytes
            .iter_mut()
            .skip(at)
            .take(64)
            .for_each(|byte| *byte ^= 0x5a),
        _ => {
            fs::remove_file(&victim).unwrap();
            return format!("{name} removed");
        }
    }
    fs::write(&victim, bytes).unwrap();
    format!("{name} damaged ({kind}) at {at}")
}

fn collect(dir: &Path, files: &mut Vec<PathBuf>) {
    for entry in fs::read_dir(dir).unwrap() {
        let path = entry.unwrap().path();
        if path.is_dir() {
            collect(&path, files);
        } else if !path.ends_with("LOCK") {
            files.push(path);
        }
    }
}
