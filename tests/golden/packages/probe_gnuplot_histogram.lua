-- Run with the package gnuplot: prints histograms of random numbers. gnuplot_histogram.txt was recorded with the
-- original's histograms.
torch.manualSeed(3)
for _, bins in ipairs{ 5, 30, 72 } do print(tostring(gnuplot.histc(torch.randn(1000), bins))) end
print(tostring(gnuplot.histc(torch.rand(20):mul(-3), 12, -2, -1)))
