# The image of the Dagster services in compose.yaml: the locked packages, hash-checked, and this checkout.
FROM python:3.13-slim

WORKDIR /opt/pitlake
RUN useradd --create-home --uid 1000 dagster \
    && mkdir -p /opt/dagster /srv/lake /srv/report && chown dagster /opt/dagster /srv/lake /srv/report
COPY requirements.lock ./
RUN pip install --no-cache-dir --require-hashes --no-deps --requirement requirements.lock
COPY . .
RUN pip install --no-cache-dir --no-deps --no-index --no-build-isolation --editable .
USER dagster
ENV DAGSTER_HOME=/opt/dagster PITLAKE_LAKE=/srv/lake PITLAKE_REPORT=/srv/report
HEALTHCHECK --interval=30s --timeout=10s --start-period=60s \
    CMD ["python", "-c", "import urllib.request as r; r.urlopen('http://127.0.0.1:3000/server_info')"]
CMD ["dagster-webserver", "--host", "0.0.0.0", "--port", "3000", "--workspace", "workspace.yaml"]
