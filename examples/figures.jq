# The main figure of each job of a run: the median over its completed trials, and
# all labels of these trials. Only figures with the same label can be compared.
#
#   assay report last --json | jq --raw-output --from-file examples/figures.jq

def median: sort | (.[(length - 1) / 2 | floor] + .[length / 2 | floor]) / 2;

# Bytes per second for large blocks, I/Os per second for small ones.
def main_metric: if .job.bs >= 65536 then "_bw" else "_iops" end;

[ .trials[]
  | select(.outcome == "completed")
  | main_metric as $ending
  | . as $trial
  | .metrics[]
  | select(.name == "read" + $ending or .name == "write" + $ending)
  | { job: $trial.job.name, name, unit, value, label: .label }
]
| group_by([.job, .name])[]
| [ .[0].job, .[0].name, (map(.value) | median | round), .[0].unit,
    (map(.label) | unique | join(" or ")), "\(length) trials" ]
| @tsv
