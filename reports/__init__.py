"""What a run leaves, and how it is shown.

result       the frozen snapshot that everything else is a function of; load and save
histogram    counts of values: recorded in bulk, merged without loss, one percentile function
hdr_log      histograms as a log that other tools read; hgrm likewise as percentile text
distributions  histograms as files for other tools, one each; a format is one new file there
view, units  a result in words and digits, the same in every output
formats      the reports: console, html, junit, markdown; a report is one new file there
tables       files of rows and columns, written as they come: csv, parquet; a format is one new file there
progress     a run while it runs
"""
