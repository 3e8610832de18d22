# th and the benchmarks, without a compiler: docker build -t th . && docker run --rm -v "$PWD:/work" th script.lua
FROM python:3.12-slim
WORKDIR /src
COPY pyproject.toml setup.py constraints.txt README.md LICENSE benchmark.py benchmark_criterion.py ./
COPY convnet_benchmarks convnet_benchmarks
COPY lua_compat lua_compat
COPY nets nets
RUN pip install --no-cache-dir --extra-index-url https://download.pytorch.org/whl/cpu -c constraints.txt '.[image]'
WORKDIR /work
ENTRYPOINT ["th"]
