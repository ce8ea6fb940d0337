//! Tables.

use super::{error, figure, of_all, results, trials, values};
use assay_model::figures::{Better, Sample};

const GOVERNORS: &str = include_str!("../../../../../examples/governors.csv");

#[test]
fn means_are_taken_as_they_are_written() {
    let results = results(GOVERNORS);
    assert_eq!(results.figures.len(), 28);
    let figure = figure(&results, "ondemand", "sqlite_delete");
    let moments = Sample::Moments {
        n: 3,
        mean: 53.84,
        stdev: Some(1.2),
    };
    assert_eq!(figure.sample, moments);
    assert_eq!(
        (&*figure.unit, figure.better),
        ("TPS", Some(Better::Higher))
    );
    assert_eq!(figure.measured, None);
    assert!(figure.primary);
}

#[test]
fn a_wide_table_has_a_condition_in_each_column() {
    let results = results(include_str!(
        "../../../../../examples/rtsx-before-after.csv"
    ));
    assert_eq!(results.figures.len(), 16);
    let after = figure(&results, "after", "fio randwrite 8k");
    assert_eq!((trials(after), &*after.unit), (vec![4215.0], "KiB/s"));
    let before = figure(&results, "before", "gnome-disks seq write 10M");
    assert_eq!((trials(before), &*before.unit), (vec![38.3], "MB/s"));
}

#[test]
fn copies_of_one_command_are_trials() {
    let results = results(include_str!("data/dd-ladder-board.csv"));
    let rate = figure(&results, "bs=1M count=128 conv=fdatasync", "rate");
    assert_eq!((trials(rate), &*rate.unit), (vec![15.5, 16.9], "MB/s"));
    let time = figure(&results, "bs=1M count=128 conv=fdatasync", "time");
    assert_eq!(trials(time), [8.65137, 7.93997]);
    assert_eq!(time.better, Some(Better::Lower));
    let free = results
        .circumstances
        .iter()
        .find(|line| line.contains("free_mem_before_M=505"));
    assert!(
        free.is_some_and(|line| line.starts_with("bs=1M count=100: ")),
        "{results:#?}"
    );
}

#[test]
fn values_of_trials_come_with_their_order_where_it_is_told() {
    let text = "condition,metric,unit,trial,value,position,measured\n\
        a,seq,MB/s,1,10.5,0,device\nb,seq,MB/s,1,11,1,device\nb,seq,MB/s,2,12,2,page-cache\n\
        a,seq,MB/s,2,10,3,device\n";
    let results = results(text);
    let a = figure(&results, "a", "seq");
    let sample = Sample::Values {
        values: vec![10.5, 10.0],
        positions: vec![0.0, 3.0],
    };
    assert_eq!(a.sample, sample);
    assert_eq!(a.measured.as_deref(), Some("device"));
    let b = figure(&results, "b", "seq");
    assert_eq!(b.measured, None, "its trials measured different things");
    assert!(
        results
            .notes
            .iter()
            .any(|note| note.contains("seq under b")),
        "{results:#?}"
    );
}

#[test]
fn rows_of_wide_tables_have_a_place_and_a_label() {
    let results = results(
        "scheduler,seq (MB/s),position,measured\nbfq,10.5,0,device\nnone,11,1,device\nbfq,10,2,device\n",
    );
    let bfq = figure(&results, "bfq", "seq");
    let sample = Sample::Values {
        values: vec![10.5, 10.0],
        positions: vec![0.0, 2.0],
    };
    assert_eq!(
        (&bfq.sample, bfq.measured.as_deref()),
        (&sample, Some("device"))
    );
    assert_eq!(results.figures.len(), 2, "{results:#?}");
}

#[test]
fn columns_of_a_row_are_no_conditions() {
    let results = results("workload,unit,bfq,none,measured,position\nseq,MB/s,10,11,device,0\n");
    let conditions: Vec<&str> = results.figures.iter().map(|f| &*f.condition).collect();
    assert_eq!(conditions, ["bfq", "none"]);
    assert_eq!(results.figures[0].measured.as_deref(), Some("device"));
}

#[test]
fn separators_and_decimal_marks_of_other_countries() {
    for text in [
        "condition;metric;unit;n;mean;stdev\na;seq;MB/s;3;65,28;0,77\n",
        "condition\tmetric\tunit\tn\tmean\tstdev\r\na\tseq\tMB/s\t3\t65,28\t0,77\r\n",
        "condition,metric,unit,n,mean,stdev\na,seq,MB/s,3,\"65,28\",\"0,77\"\n",
        "\u{feff}# phone, kernel 3.10\ncondition, metric, unit, n, mean, stdev\na, seq, MB/s, 3, 65.28, 0.77\n",
    ] {
        let results = results(text);
        let moments = Sample::Moments {
            n: 3,
            mean: 65.28,
            stdev: Some(0.77),
        };
        assert_eq!(figure(&results, "a", "seq").sample, moments, "{text}");
        let has_comment = results.circumstances == ["phone, kernel 3.10"];
        assert_eq!(has_comment, text.contains('#'), "{text}");
    }
}

#[test]
fn tables_as_androbench_is_reported() {
    let text = "governor;n;Seq. Read (MB/s);Random Read [IOPS];SQLite Insert (TPS)\n\
        interactive;3;65,28 ± 0,77;1849,93 ± 11,03;51,58 ± 1,47\n\
        ondemand;3;65,47 ± 4,43;;46,93 ± 3,11\n";
    let results = results(text);
    assert_eq!(results.figures.len(), 5);
    let figure = figure(&results, "interactive", "Random Read");
    let moments = Sample::Moments {
        n: 3,
        mean: 1849.93,
        stdev: Some(11.03),
    };
    assert_eq!((&figure.sample, &*figure.unit), (&moments, "IOPS"));
    assert!(
        results
            .notes
            .iter()
            .any(|note| note.contains("without a figure: 1"))
    );
}

#[test]
fn a_mean_of_an_unknown_number_of_trials_counts_as_one() {
    let results = results("condition,metric,unit,mean,stdev\na,seq,MB/s,65,1\n");
    let moments = Sample::Moments {
        n: 1,
        mean: 65.0,
        stdev: None,
    };
    assert_eq!(figure(&results, "a", "seq").sample, moments);
    assert!(
        results.notes.iter().any(|note| note.contains("not given")),
        "{results:#?}"
    );
}

#[test]
fn several_files_are_trials_and_a_condition_can_be_given() {
    let one = "metric,unit,value\nseq,MB/s,10\n";
    let two = "metric,unit,value\nseq,MB/s,11\n";
    let results = of_all(&[one, two], Some("before")).unwrap();
    assert_eq!(trials(figure(&results, "before", "seq")), [10.0, 11.0]);
    let results = of_all(&[GOVERNORS], Some("phone A")).unwrap();
    assert_eq!(
        figure(&results, "phone A", "ondemand: seq_read").sample.n(),
        3
    );
}

#[test]
fn columns_that_are_not_known_name_the_metric_or_are_left_out() {
    let text = "tool,metric,unit,value,remark\nfio,seq,MB/s,10,hot\ndd,seq,MB/s,11,\n";
    let results = results(text);
    assert_eq!(values(&results, "fio seq").0, [10.0]);
    assert_eq!(values(&results, "dd seq").0, [11.0]);
    assert!(
        results
            .notes
            .contains(&"Columns left out: remark.".to_owned()),
        "{results:#?}"
    );
}

#[test]
fn an_impossible_value_is_refused_with_its_line() {
    let head = "condition,metric,unit,n,mean,stdev\na,seq,MB/s,3,65,1\n";
    for (row, words) in [
        ("b,seq,MB/s,0,65,1\n", "line 3: seq under b: n is 0"),
        (
            "b,seq,MB/s,x,65,1\n",
            "line 3: 'x' is not a number of trials",
        ),
        ("b,seq,MB/s,3,nan,1\n", "line 3: 'nan' is not a number"),
        (
            "b,seq,MB/s,3,-65,1\n",
            "line 3: seq under b: -65 is negative",
        ),
        (
            "b,seq,MB/s,3,65,-1\n",
            "line 3: seq under b: -1 is negative",
        ),
        (
            "b,seq,IOPS,3,65,1\n",
            "line 3: seq under b is in 'IOPS', and was in 'MB/s' before",
        ),
        (
            "b,seq,MB/s,3\n",
            "line 3: 4 cells below 6 columns: the table may be cut off here",
        ),
        (
            "b,seq,MB/s,3,65,28,1\n",
            "line 3: 7 cells below 6 columns: numbers with a decimal",
        ),
        (
            "a,seq,MB/s,3,65,1\n",
            "line 3: seq under a: there is a figure already",
        ),
        ("b,,MB/s,3,65,1\n", "line 3: the metric has no name"),
        (
            "b,seq,MB/s,3,1e999,1\n",
            "line 3: seq under b: 'inf' is not a number",
        ),
    ] {
        let said = error(&format!("{head}{row}"));
        assert!(said.starts_with(words), "{row}: {said}");
        assert_eq!(said.lines().count(), 1, "{said}");
    }
}

#[test]
fn differing_labels_give_unknown_and_not_unrecorded() {
    let table = "metric,unit,value,measured\nbw,MB/s,1,device\nbw,MB/s,2,page-cache\n";
    let results = results(table);
    assert_eq!(figure(&results, "", "bw").measured, None);
    assert_eq!(
        results.notes,
        ["bw: its trials did not all measure the same, so what they measured is unknown."]
    );
}

#[test]
fn positions_that_cannot_be_an_order_are_told() {
    let table = |last: &str| {
        results(&format!(
            "condition,metric,unit,value,position\nx,bw,MB/s,1,1\ny,bw,MB/s,2,{last}\n"
        ))
    };
    let says = |last: &str| {
        let notes = table(last).notes;
        notes.iter().any(|note| note.contains("same position"))
    };
    assert!(says("1") && !says("2"));
}

#[test]
fn the_apostrophe_before_a_name_that_looks_like_a_formula_is_none_of_it() {
    let results = results("condition,metric,unit,value\n'=1+1,'@sum,MB/s,5\n'plain,x,MB/s,6\n");
    assert_eq!(trials(figure(&results, "=1+1", "@sum")), [5.0]);
    assert_eq!(trials(figure(&results, "'plain", "x")), [6.0]);
}
