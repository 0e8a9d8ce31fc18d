/**
 * The table of cases: a format, in a location, in an encoding. A row lists the formats that are
 * planted in one location, each with a value of its own, so that hiding one cannot hide another.
 */
import { formats } from './formats.mjs'
import { randomText } from './random.mjs'

/**
 * @typedef {object} PlantedCase
 * @property {string} id
 * @property {number} number Its index in the table.
 * @property {string} format
 * @property {string} group
 * @property {string} place
 * @property {string} encoding
 * @property {string} why Why it is a secret.
 * @property {string} publisher
 * @property {import('./formats.mjs').KnownBy} by
 * @property {string} name
 * @property {string} field Its name in lower case; neutral if its shape or context gives it away.
 * @property {string} secret The value that must not be found.
 * @property {string} text The secret with what belongs to it, such as the rest of an address.
 */

/** @type {readonly (readonly [place: string, encoding: string, formats: string])[]} */
const rows = [
  // Variables.
  [
    'env-secret-name',
    'plain',
    'openai mistral cohere twilio-auth-token password-words password-short aws-secret-access-key ' +
      'client-secret datadog mnemonic signing-secret encryption-key paypal plaid',
  ],
  [
    'env-plain-name',
    'plain',
    'github-pat stripe sendgrid postgres-url mongodb-url slack-webhook pem-pkcs8 jwt ' +
      'gcp-service-account azure-storage-key redis-url telegram age otpauth',
  ],
  [
    'env-file-secret-name',
    'plain',
    'groq password-strong vonage api-key-uuid okta totp-seed license-key',
  ],
  [
    'env-file-plain-name',
    'plain',
    'huggingface linear postgres-url-word discord-webhook password-words access-token npm sqlserver-connection',
  ],
  ['env-file-read', 'plain', 'gitlab-pat password-words deepseek smtp-url asana passphrase'],

  // Arguments of the program and of its children.
  [
    'argv-option',
    'plain',
    'password-words password-strong passphrase api-key-hex client-secret access-token',
  ],
  ['argv-option-equals', 'plain', 'password-short api-key-uuid refresh-token datadog'],
  ['argv-user', 'plain', 'basic-auth'],
  ['argv-positional', 'plain', 'github-fine-grained postgres-url anthropic pem-ec'],
  ['argv-assignment', 'plain', 'password-words api-key-hex signing-secret'],
  ['argv-header', 'plain', 'access-token'],
  ['child-argv-option', 'plain', 'password-words api-key-hex client-secret pin'],
  ['child-argv-option-equals', 'plain', 'password-words access-token session-cookie'],
  ['child-argv-user', 'plain', 'basic-auth'],
  ['child-argv-shell', 'plain', 'password-words mysql-url npm'],
  ['child-argv-positional', 'plain', 'slack-bot mongodb-url git-url'],
  ['child-env', 'plain', 'password-words cohere digitalocean postgres-url-word'],
  ['child-stdin', 'plain', 'docker-hub password-words openssh client-secret'],
  ['child-stdout', 'plain', 'github-app aws-session-token password-words pem-rsa jwt'],
  ['child-stdout', 'base64', 'password-words api-key-hex'],
  ['child-stderr', 'plain', 'gitlab-runner libpq-keywords'],

  // Files of well-known programs.
  ['file-netrc', 'plain', 'basic-auth heroku'],
  ['file-pgpass', 'plain', 'password-words password-strong'],
  ['file-npmrc-token', 'plain', 'npm api-key-uuid'],
  ['file-npmrc-auth', 'base64', 'basic-auth'],
  ['file-git-credentials', 'plain', 'github-oauth password-words'],
  ['file-aws-credentials', 'plain', 'aws-secret-access-key aws-access-key-id aws-session-token'],
  ['file-kube-token', 'plain', 'jwt access-token'],
  ['file-kube-key', 'base64', 'pem-ec'],
  ['file-docker-auth', 'base64', 'basic-auth docker-hub'],
  ['file-pypirc', 'plain', 'pypi password-words'],
  ['file-my-cnf', 'plain', 'password-words'],
  ['file-maven', 'plain', 'password-words artifactory'],
  ['file-composer', 'plain', 'github-pat password-words'],
  ['file-gh-hosts', 'plain', 'github-oauth'],
  ['file-cargo', 'plain', 'crates-io'],
  ['file-gem', 'plain', 'rubygems'],
  ['file-nuget', 'plain', 'password-strong nuget'],
  ['file-pip', 'plain', 'password-words'],
  ['file-rclone', 'plain', 'client-secret'],
  ['file-wireguard', 'plain', 'wireguard'],
  ['file-terraform', 'plain', 'password-words azure-client-secret'],
  ['file-kubernetes-secret', 'base64', 'password-words stripe'],
  ['file-ssh-key', 'plain', 'openssh pgp pem-encrypted putty'],
  ['file-service-account', 'plain', 'gcp-service-account jwk-d'],
  ['file-yaml', 'plain', 'password-words client-secret sendgrid amqp-url azure-service-bus'],
  ['file-toml', 'plain', 'password-short vault encryption-key'],
  ['file-ini', 'plain', 'password-words refresh-token'],
  ['file-properties', 'plain', 'password-words jdbc-url signing-secret'],
  ['file-json', 'plain', 'password-words mailgun api-key-hex snyk'],
  ['file-php', 'plain', 'password-words'],
  ['file-shell-history', 'plain', 'password-words access-token mysql-url'],
  ['file-write', 'plain', 'password-words github-pat slack-webhook session-cookie'],
  ['file-append', 'plain', 'access-token brevo'],
  ['file-name', 'plain', 'gitlab-deploy'],

  // Requests.
  ['request-bearer', 'plain', 'access-token openai notion api-key-hex password-words'],
  ['request-token-scheme', 'plain', 'api-key-hex readme'],
  ['request-basic', 'base64', 'basic-auth stripe twilio-auth-token password-short'],
  ['request-key-header', 'plain', 'anthropic algolia azure-openai api-key-uuid'],
  [
    'request-vendor-header',
    'plain',
    'gitlab-pat vault shopify datadog postmark figma zendesk cloudflare',
  ],
  ['request-cookie', 'plain', 'session-cookie connect-sid jwt'],
  ['request-proxy-authorization', 'base64', 'basic-auth'],
  [
    'request-query',
    'url',
    'gcp-api-key api-key-hex auth-code access-token encryption-key password-strong',
  ],
  ['request-query', 'plain', 'maxmind azure-sas aws-presigned gcs-signed google-chat-webhook'],
  ['request-path', 'plain', 'telegram slack-webhook discord-webhook teams-webhook zapier-webhook'],
  ['request-userinfo', 'base64', 'basic-auth mailgun'],
  [
    'request-json',
    'plain',
    'password-words password-strong client-secret refresh-token pin totp-seed mnemonic xai linode vercel',
  ],
  ['request-json', 'json', 'pem-rsa passphrase gcp-service-account'],
  ['request-json', 'u-escape', 'password-strong github-pat client-secret'],
  ['request-json-deep', 'plain', 'password-words aws-secret-access-key pinecone'],
  ['request-json-pair', 'plain', 'password-words api-key-uuid client-secret'],
  ['request-json-in-json', 'json', 'password-words access-token slack-user pem-ec'],
  ['request-json-value', 'base64', 'github-pat password-words postgres-url pem-rsa openai'],
  ['request-json-value', 'base64url', 'stripe client-secret'],
  ['request-json-value', 'hex', 'api-key-uuid sendgrid password-words'],
  ['request-json-assignment', 'base64', 'password-words client-secret npm'],
  [
    'request-form',
    'url',
    'password-words password-strong client-secret refresh-token auth-code pkce-verifier',
  ],
  ['request-multipart', 'plain', 'password-words api-key-hex easypost client-secret'],
  ['request-multipart-file', 'plain', 'pem-pkcs8 openssh'],
  ['request-xml', 'plain', 'password-words api-key-hex salesforce'],
  ['request-xml-attribute', 'plain', 'password-words client-secret'],
  ['request-graphql', 'plain', 'password-words access-token linear'],
  ['request-graphql-literal', 'plain', 'password-words'],
  ['request-gzip', 'gzip', 'password-words groq refresh-token'],
  ['request-text', 'plain', 'langsmith atlassian google-refresh-token'],

  // Answers.
  [
    'response-json',
    'plain',
    'access-token refresh-token client-secret password-words aws-session-token tavily',
  ],
  ['response-json', 'json', 'pem-rsa gcp-service-account'],
  ['response-json', 'u-escape', 'access-token gitlab-pat password-strong'],
  ['response-json-pair', 'plain', 'password-words api-key-hex'],
  ['response-json-in-json', 'json', 'password-words client-secret replicate'],
  ['response-json-value', 'base64', 'github-pat password-words mongodb-url'],
  ['response-json-value', 'hex', 'stripe-webhook'],
  ['response-cookie', 'plain', 'session-cookie connect-sid refresh-token jwt'],
  ['response-location', 'url', 'auth-code access-token azure-sas'],
  ['response-header', 'plain', 'api-key-hex cloudflare-origin-ca access-token'],
  ['response-form', 'url', 'access-token client-secret'],
  ['response-xml', 'plain', 'aws-secret-access-key password-words session-cookie'],
  ['response-gzip', 'gzip', 'access-token hubspot password-words'],
  ['response-events-split', 'split', 'anthropic github-pat stripe jwt perplexity'],
  ['response-chunks-split', 'split', 'password-words client-secret slack-bot postgres-url pem-rsa'],
  ['response-lines', 'plain', 'password-words elevenlabs'],
  ['response-text', 'plain', 'mysql-url grafana mapbox'],
  ['response-html', 'plain', 'password-words google-oauth-secret'],
  ['response-error', 'plain', 'openrouter password-words'],

  // Prompts and answers of models.
  ['prompt-english', 'plain', 'api-key-hex password-words license-key openai-legacy client-secret'],
  ['prompt-english-is', 'plain', 'password-words pin access-token'],
  ['prompt-german', 'plain', 'password-words api-key-uuid'],
  ['prompt-french', 'plain', 'password-words mnemonic'],
  ['prompt-spanish', 'plain', 'password-words client-secret'],
  ['prompt-portuguese', 'plain', 'password-words'],
  ['prompt-italian', 'plain', 'password-short'],
  ['prompt-japanese', 'plain', 'password-words api-key-hex'],
  ['prompt-chinese', 'plain', 'password-words access-token'],
  ['prompt-russian', 'plain', 'password-words'],
  ['prompt-code-block', 'plain', 'password-words firecrawl amqp-url api-key-hex'],
  ['prompt-inline-code', 'plain', 'password-words resend'],
  ['prompt-table', 'plain', 'password-words api-key-hex circleci'],
  ['prompt-list', 'plain', 'password-words twilio-auth-token'],
  ['prompt-curl', 'plain', 'api-key-hex basic-auth access-token'],
  ['prompt-python', 'plain', 'password-words aws-secret-access-key'],
  [
    'prompt-mention',
    'plain',
    'dynatrace launchdarkly pem-pkcs8 google-access-token aws-temporary-key-id aws-bedrock-key onepassword-service mailchimp twilio-key',
  ],
  ['prompt-anthropic-system', 'plain', 'password-words airtable'],
  ['prompt-anthropic-blocks', 'plain', 'password-words buildkite'],
  ['model-answer', 'plain', 'password-words tailscale api-key-hex'],
  ['model-answer-stream', 'split', 'password-words supabase newrelic'],
  ['model-tool-call', 'json', 'password-words access-token terraform-cloud'],
  ['model-tool-result', 'json', 'password-words postman mongodb-url'],

  // Wrapped tools.
  ['tool-argument', 'plain', 'password-words client-secret pulumi redis-url'],
  ['tool-argument-nested', 'plain', 'password-words refresh-token'],
  ['tool-argument-pair', 'plain', 'password-words'],
  ['tool-result', 'plain', 'password-words access-token planetscale pem-ec'],
  ['tool-result-json', 'json', 'password-words api-key-hex'],
  ['tool-error', 'plain', 'password-words databricks amqp-url'],
  ['tool-error-cause', 'plain', 'password-words shippo'],

  // Output.
  ['stdout-assignment', 'plain', 'password-words api-key-hex aws-secret-access-key'],
  ['stdout-sentence', 'plain', 'password-words square netlify'],
  ['stdout-object', 'plain', 'password-words client-secret'],
  [
    'stdout-mention',
    'plain',
    'sonar postgres-url-word doppler discord-bot openshift bitbucket-app-password stripe-restricted',
  ],
  ['stdout-split', 'split', 'flutterwave fly'],
  ['log-json', 'json', 'password-words access-token clojars'],
  ['log-logfmt', 'plain', 'password-words session-cookie'],
  ['log-url', 'plain', 'access-token gcp-api-key'],
  ['log-header', 'plain', 'access-token session-cookie'],
  ['stderr-line', 'plain', 'password-words duffel'],
  ['stderr-stack', 'plain', 'smtp-url password-words'],

  // Databases and sockets.
  ['sql-text', 'plain', 'password-words api-key-uuid'],
  ['sql-alter-role', 'plain', 'password-words'],
  ['sql-parameter', 'plain', 'password-words access-token sentry-user'],
  ['sql-parameter-set', 'plain', 'password-words client-secret'],
  ['sql-result', 'plain', 'password-words api-key-hex'],
  ['sql-login', 'plain', 'password-words'],
  ['redis-auth', 'plain', 'password-words'],
  ['redis-set', 'plain', 'access-token github-app session-cookie'],
  ['redis-get', 'plain', 'refresh-token heroku'],
  ['websocket-sent', 'plain', 'access-token password-words slack-app'],
  ['websocket-received', 'plain', 'session-cookie figma'],

  // Literals in the program's source, and its last error.
  ['source-openai', 'plain', 'api-key-hex openai password-words'],
  ['source-anthropic', 'plain', 'client-secret anthropic'],
  ['source-header', 'plain', 'access-token api-key-uuid'],
  ['source-json', 'plain', 'password-words'],
  ['source-assignment', 'plain', 'password-words adyen braintree postgres-url'],
  ['uncaught-message', 'plain', 'password-words'],
  ['uncaught-cause', 'plain', 'mysql-url'],
  ['uncaught-field', 'plain', 'access-token'],

  // Runs of the library.
  ['run-input', 'plain', 'password-words access-token intercom shopify-shared pem-ec'],
  ['run-output', 'plain', 'password-words client-secret typeform'],
  ['run-error', 'plain', 'libpq-keywords alibaba-key-id'],

  // A command in another language, through the proxy.
  ['curl-user', 'plain', 'basic-auth password-short'],
  ['curl-header', 'plain', 'access-token api-key-hex'],
  ['curl-data', 'plain', 'password-words client-secret'],
  ['curl-url', 'plain', 'api-key-uuid telegram'],
  ['curl-cookie', 'plain', 'session-cookie'],
  ['curl-json', 'plain', 'password-words'],
]

const reasons = {
  shape: (format) => `Its shape is published: ${format.publisher}`,
  name: (format) => `It is named ${format.name}: ${format.publisher}`,
  context: (format) => `It is part of a credential of a known form: ${format.publisher}`,
}

/** @type {readonly PlantedCase[]} */
export const cases = rows
  .flatMap(([place, encoding, names]) =>
    names.split(' ').map((name) => ({ place, encoding, format: name })),
  )
  .map(({ place, encoding, format: name }, number) => {
    const format = formats.get(name)
    if (format === undefined) throw new Error(`no format ${name}`)
    const id = `${name} ${place} ${encoding}`
    const made = format.make(randomText(id))
    const { secret, text } = typeof made === 'string' ? { secret: made, text: made } : made
    return {
      id,
      number,
      format: name,
      group: format.group,
      place,
      encoding,
      why: reasons[format.by](format),
      publisher: format.publisher,
      by: format.by,
      name: format.name,
      field: format.by === 'name' ? format.name.toLowerCase() : 'note',
      secret,
      text,
    }
  })

/** @param {string} place */
export const casesAt = (place) => cases.filter((each) => each.place === place)

/** Cases of all locations whose name starts with this. @param {string} start */
export const casesUnder = (start) => cases.filter(({ place }) => place.startsWith(start))

/** Values of variables under names that say nothing. @param {PlantedCase} planted */
export const neutralName = ({ number }) => `SHOP_SETTING_${number}`
