# The image of the Dagster services in compose.yaml: the locked packages, hash-checked, and this checkout.
FROM python:3.13-slim

WORKDIR /opt/pitlake
RUN useradd --create-home --uid 1000 dagster && mkdir -p /opt/dagster /srv/lake && chown dagster /opt/dagster /srv/lake
COPY requirements.lock ./
RUN pip install --no-cache-dir --require-hashes --no-deps --requirement requirements.lock
COPY . .
RUN pip install --no-cache-dir --no-deps --no-index --no-build-isolation --editable .
USER dagster
