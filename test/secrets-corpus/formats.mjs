/**
 * The formats of the corpus. Each is published by the vendor that issues it, or by the public rule
 * sets of secret scanners. Only the shape is here: values are drawn at run time.
 *
 * `by` says how a reader knows that it is a secret:
 * - shape: from its form alone, wherever it is;
 * - name: only from the name beside it (a variable, key, header, option or column);
 * - context: from the text around it, which belongs to the format (an address, a block).
 */
/** @typedef {ReturnType<typeof import('./random.mjs').randomText>} Random */
/** @typedef {'shape' | 'name' | 'context'} KnownBy */
/** @typedef {string | { secret: string, text: string }} Made */
/**
 * @typedef {object} Format
 * @property {string} id
 * @property {string} group
 * @property {KnownBy} by
 * @property {string} name Of its variable, as its documentation calls it.
 * @property {string} publisher Who publishes the format.
 * @property {(random: Random) => Made} make The secret, and the text it is part of.
 */

/** Joins prefix pieces, so that no complete prefix of a key is in this file. */
const p = (...pieces) => pieces.join('')

const GITLEAKS = 'gitleaks.toml'
const GITHUB = 'GitHub secret scanning patterns'
const TRUFFLEHOG = 'trufflehog detectors'
const SECRETLINT = 'secretlint rules'
const DETECT = 'detect-secrets plugins'

const base64 = (text) => Buffer.from(text).toString('base64')
const base64url = (text) => Buffer.from(text).toString('base64url')

/** Its head is the same in many tokens; the signature makes it valid. */
const jwt = (r) => {
  const secret = r.url(43)
  const head = base64url(JSON.stringify({ alg: 'HS256', typ: 'JWT' }))
  const claims = { sub: r.digits(10), iat: 1_700_000_000 + r.below(1e7) }
  return { secret, text: `${head}.${base64url(JSON.stringify(claims))}.${secret}` }
}

/** A block with a header and a footer; the secret is its body. */
const block = (label, lines, extra = '') => {
  const border = (word) => ['-----', word, ' ', label, '-----'].join('')
  const secret = lines.join('\n')
  return { secret, text: `${border('BEGIN')}\n${extra}${secret}\n${border('END')}\n` }
}

const bodyLines = (r, start, count, width = 64) => [
  start + r.base64(width - start.length),
  ...Array.from({ length: count - 2 }, () => r.base64(width)),
  `${r.base64(width - 22)}==`,
]

/** An address whose password or path is the secret. */
const address = (secret, before, after) => ({ secret, text: `${before}${secret}${after}` })

const AWS = 'AWS IAM user guide'
const OAUTH = 'RFC 6749'

/** @type {readonly [id: string, by: KnownBy, name: string, publisher: string, make: (r: Random) => Made][]} */
const cloud = [
  ['aws-access-key-id', 'shape', 'AWS_ACCESS_KEY_ID', AWS, (r) => p('AK', 'IA') + r.base32(16)],
  ['aws-temporary-key-id', 'shape', 'AWS_KEY', AWS, (r) => p('AS', 'IA') + r.base32(16)],
  ['aws-secret-access-key', 'name', 'AWS_SECRET_ACCESS_KEY', AWS, (r) => r.base64(40)],
  [
    'aws-session-token',
    'name',
    'AWS_SESSION_TOKEN',
    AWS,
    (r) => `${p('IQoJb3', 'JpZ2lu')}${r.base64(200)}==`,
  ],
  [
    'aws-bedrock-key',
    'shape',
    'AWS_BEARER_TOKEN_BEDROCK',
    GITLEAKS,
    (r) => `${p('AB', 'SK')}${r.base64(128)}`,
  ],
  ['gcp-api-key', 'shape', 'GOOGLE_API_KEY', 'Google Cloud docs', (r) => p('AI', 'za') + r.url(35)],
  [
    'google-oauth-secret',
    'shape',
    'GOOGLE_CLIENT_SECRET',
    GITHUB,
    (r) => p('GOC', 'SPX-') + r.url(28),
  ],
  [
    'google-access-token',
    'shape',
    'GOOGLE_ACCESS_TOKEN',
    GITHUB,
    (r) => p('ya', '29.') + p('a0Af', 'H6') + r.url(120),
  ],
  [
    'google-refresh-token',
    'shape',
    'GOOGLE_REFRESH_TOKEN',
    GITHUB,
    (r) => p('1//', '0') + r.url(60),
  ],
  [
    'azure-client-secret',
    'shape',
    'AZURE_CLIENT_SECRET',
    GITLEAKS,
    (r) => `${r.alnum(3)}8${p('Q', '~')}${r.url(34)}`,
  ],
  [
    'azure-storage-key',
    'context',
    'AZURE_STORAGE_CONNECTION_STRING',
    'Azure Storage docs',
    (r) =>
      address(
        `${r.base64(86)}==`,
        'DefaultEndpointsProtocol=https;AccountName=shopdata;AccountKey=',
        ';EndpointSuffix=core.windows.net',
      ),
  ],
  [
    'azure-service-bus',
    'context',
    'SERVICE_BUS',
    'Azure Service Bus docs',
    (r) =>
      address(
        `${r.base64(43)}=`,
        'Endpoint=sb://shop.servicebus.windows.net/;SharedAccessKeyName=Root;SharedAccessKey=',
        '',
      ),
  ],
  [
    'azure-sas',
    'context',
    'UPLOAD_URL',
    'Azure Storage docs',
    (r) =>
      address(
        `${r.alnum(43)}%3D`,
        'https://shop.blob.core.windows.net/a/b.csv?sv=2023-11-03&se=2027-01-01&sp=r&sig=',
        '',
      ),
  ],
  [
    'aws-presigned',
    'context',
    'DOWNLOAD_URL',
    'AWS Signature Version 4',
    (r) =>
      address(
        r.hex(64),
        'https://shop.s3.amazonaws.com/a.csv?X-Amz-Date=20261118T000000Z&X-Amz-Expires=900&X-Amz-Signature=',
        '',
      ),
  ],
  [
    'gcs-signed',
    'context',
    'EXPORT_URL',
    'Google Cloud Storage docs',
    (r) =>
      address(
        r.hex(128),
        'https://storage.googleapis.com/shop/a.csv?X-Goog-Expires=900&X-Goog-Signature=',
        '',
      ),
  ],
  ['alibaba-key-id', 'shape', 'ALIBABA_ACCESS_KEY', GITLEAKS, (r) => p('LT', 'AI') + r.alnum(20)],
  [
    'digitalocean',
    'shape',
    'DIGITALOCEAN_TOKEN',
    'DigitalOcean API docs',
    (r) => p('dop', '_v1_') + r.hex(64),
  ],
  ['linode', 'name', 'LINODE_TOKEN', TRUFFLEHOG, (r) => r.hex(64)],
  ['cloudflare', 'name', 'CLOUDFLARE_API_TOKEN', GITLEAKS, (r) => r.url(40)],
  [
    'cloudflare-origin-ca',
    'shape',
    'CF_ORIGIN',
    GITLEAKS,
    (r) => `${p('v1', '.0-')}${r.hex(24)}-${r.hex(146)}`,
  ],
  ['heroku', 'shape', 'HEROKU_API_KEY', 'Heroku changelog', (r) => p('HRKU', '-AA') + r.url(58)],
  ['fly', 'shape', 'FLY_API_TOKEN', GITLEAKS, (r) => p('fo', '1_') + r.url(43)],
  ['vercel', 'name', 'VERCEL_TOKEN', TRUFFLEHOG, (r) => r.alnum(24)],
  ['netlify', 'shape', 'NETLIFY_AUTH_TOKEN', GITHUB, (r) => p('nf', 'p_') + r.alnum(36)],
  [
    'terraform-cloud',
    'shape',
    'TFE_TOKEN',
    'HashiCorp docs',
    (r) => `${r.alnum(14)}.${p('atlas', 'v1')}.${r.url(66)}`,
  ],
  ['vault', 'shape', 'VAULT_TOKEN', 'HashiCorp docs', (r) => p('hv', 's.') + r.url(95)],
  ['pulumi', 'shape', 'PULUMI_ACCESS_TOKEN', GITLEAKS, (r) => p('pu', 'l-') + r.hex(40)],
  ['doppler', 'shape', 'DOPPLER_TOKEN', 'Doppler docs', (r) => p('dp.', 'pt.') + r.alnum(43)],
  ['databricks', 'shape', 'DATABRICKS_TOKEN', GITLEAKS, (r) => p('da', 'pi') + r.hex(32)],
  ['openshift', 'shape', 'OPENSHIFT', GITLEAKS, (r) => p('sha', '256~') + r.url(43)],
  [
    'onepassword-service',
    'shape',
    'OP_SERVICE_ACCOUNT_TOKEN',
    '1Password docs',
    (r) =>
      p('op', 's_') + base64(JSON.stringify({ email: r.word(), muk: r.alnum(240) })).slice(0, 320),
  ],
]

/** @type {typeof cloud} */
const models = [
  [
    'openai',
    'shape',
    'OPENAI_API_KEY',
    'OpenAI docs',
    (r) => `${p('sk', '-proj-')}${r.url(74)}${p('T3Blbk', 'FJ')}${r.url(74)}`,
  ],
  [
    'openai-legacy',
    'shape',
    'OPENAI_KEY',
    GITLEAKS,
    (r) => `${p('s', 'k-')}${r.alnum(20)}${p('T3Blbk', 'FJ')}${r.alnum(20)}`,
  ],
  [
    'anthropic',
    'shape',
    'ANTHROPIC_API_KEY',
    'Anthropic docs',
    (r) => `${p('sk-', 'ant-', 'api03-')}${r.url(93)}AA`,
  ],
  ['huggingface', 'shape', 'HF_TOKEN', 'Hugging Face docs', (r) => p('h', 'f_') + r.letters(34)],
  ['groq', 'shape', 'GROQ_API_KEY', GITHUB, (r) => p('gs', 'k_') + r.alnum(52)],
  ['perplexity', 'shape', 'PERPLEXITY_API_KEY', GITLEAKS, (r) => p('pp', 'lx-') + r.alnum(48)],
  ['replicate', 'shape', 'REPLICATE_API_TOKEN', TRUFFLEHOG, (r) => p('r', '8_') + r.alnum(37)],
  [
    'openrouter',
    'shape',
    'OPENROUTER_API_KEY',
    'OpenRouter docs',
    (r) => p('sk-', 'or-', 'v1-') + r.hex(64),
  ],
  ['xai', 'shape', 'XAI_API_KEY', 'xAI docs', (r) => p('xa', 'i-') + r.alnum(80)],
  [
    'langsmith',
    'shape',
    'LANGSMITH_API_KEY',
    TRUFFLEHOG,
    (r) => `${p('lsv2', '_pt_')}${r.hex(32)}_${r.hex(10)}`,
  ],
  ['tavily', 'shape', 'TAVILY_API_KEY', 'Tavily docs', (r) => p('tv', 'ly-') + r.alnum(32)],
  ['firecrawl', 'shape', 'FIRECRAWL_API_KEY', 'Firecrawl docs', (r) => p('f', 'c-') + r.hex(32)],
  [
    'pinecone',
    'shape',
    'PINECONE_API_KEY',
    GITHUB,
    (r) => `${p('pc', 'sk_')}${r.alnum(6)}_${r.alnum(63)}`,
  ],
  ['elevenlabs', 'shape', 'ELEVENLABS_API_KEY', GITHUB, (r) => p('s', 'k_') + r.hex(48)],
  ['mistral', 'name', 'MISTRAL_API_KEY', TRUFFLEHOG, (r) => r.alnum(32)],
  ['cohere', 'name', 'CO_API_KEY', GITLEAKS, (r) => r.alnum(40)],
  ['azure-openai', 'name', 'AZURE_OPENAI_API_KEY', TRUFFLEHOG, (r) => r.hex(32)],
  ['deepseek', 'shape', 'DEEPSEEK_API_KEY', GITHUB, (r) => p('s', 'k-') + r.hex(32)],
]

/** @type {typeof cloud} */
const business = [
  ['stripe', 'shape', 'STRIPE_SECRET_KEY', 'Stripe docs', (r) => p('sk', '_live_') + r.alnum(99)],
  ['stripe-restricted', 'shape', 'STRIPE', 'Stripe docs', (r) => p('rk', '_test_') + r.alnum(24)],
  [
    'stripe-webhook',
    'shape',
    'STRIPE_WEBHOOK',
    'Stripe docs',
    (r) => p('wh', 'sec_') + r.alnum(32),
  ],
  ['square', 'shape', 'SQUARE_TOKEN', GITLEAKS, (r) => p('sq0', 'atp-') + r.url(22)],
  [
    'braintree',
    'shape',
    'BRAINTREE',
    TRUFFLEHOG,
    (r) => `${p('access', '_token$')}production$${r.lowerDigits(16)}$${r.hex(32)}`,
  ],
  ['plaid', 'name', 'PLAID_ACCESS_TOKEN', GITLEAKS, (r) => p('access-', 'production-') + r.uuid()],
  ['adyen', 'name', 'ADYEN_API_KEY', GITHUB, (r) => p('AQ', 'E') + r.base64(70)],
  ['paypal', 'name', 'PAYPAL_CLIENT_SECRET', TRUFFLEHOG, (r) => r.url(80)],
  [
    'flutterwave',
    'shape',
    'FLUTTERWAVE',
    GITLEAKS,
    (r) => `${p('FLW', 'SECK_TEST-')}${r.hex(32)}-X`,
  ],
  ['shippo', 'shape', 'SHIPPO_TOKEN', GITLEAKS, (r) => p('shippo', '_live_') + r.hex(40)],
  ['shopify', 'shape', 'SHOPIFY_ACCESS_TOKEN', 'Shopify docs', (r) => p('shp', 'at_') + r.hex(32)],
  ['shopify-shared', 'shape', 'SHOPIFY', GITLEAKS, (r) => p('shp', 'ss_') + r.hex(32)],
  ['duffel', 'shape', 'DUFFEL_TOKEN', GITLEAKS, (r) => p('duffel', '_live_') + r.url(43)],
  ['easypost', 'shape', 'EASYPOST_API_KEY', GITLEAKS, (r) => p('EZ', 'AK') + r.alnum(54)],
  [
    'sendgrid',
    'shape',
    'SENDGRID_API_KEY',
    GITLEAKS,
    (r) => `${p('S', 'G.')}${r.url(22)}.${r.url(43)}`,
  ],
  ['mailgun', 'shape', 'MAILGUN_API_KEY', GITLEAKS, (r) => p('ke', 'y-') + r.hex(32)],
  [
    'mailchimp',
    'shape',
    'MAILCHIMP_API_KEY',
    DETECT,
    (r) => `${r.hex(32)}${p('-', 'us')}${r.below(9) + 10}`,
  ],
  [
    'brevo',
    'shape',
    'BREVO_API_KEY',
    GITLEAKS,
    (r) => `${p('xkey', 'sib-')}${r.hex(64)}-${r.alnum(16)}`,
  ],
  ['postmark', 'name', 'POSTMARK_SERVER_TOKEN', TRUFFLEHOG, (r) => r.uuid()],
  [
    'resend',
    'shape',
    'RESEND_API_KEY',
    TRUFFLEHOG,
    (r) => `${p('r', 'e_')}${r.alnum(8)}_${r.alnum(24)}`,
  ],
  ['twilio-key', 'shape', 'TWILIO', GITLEAKS, (r) => p('S', 'K') + r.hex(32)],
  ['twilio-auth-token', 'name', 'TWILIO_AUTH_TOKEN', TRUFFLEHOG, (r) => r.hex(32)],
  ['vonage', 'name', 'VONAGE_API_SECRET', TRUFFLEHOG, (r) => r.alnum(16)],
  ['hubspot', 'shape', 'HUBSPOT_TOKEN', GITHUB, (r) => p('pat-', 'na1-') + r.uuid()],
  [
    'salesforce',
    'shape',
    'SALESFORCE_SESSION',
    TRUFFLEHOG,
    (r) => `${p('00', 'D')}${r.alnum(12)}!${r.alnum(80)}`,
  ],
  ['zendesk', 'name', 'ZENDESK_SECRET', GITLEAKS, (r) => r.lowerDigits(40)],
  ['intercom', 'name', 'INTERCOM_ACCESS_TOKEN', GITLEAKS, (r) => r.url(60)],
  [
    'airtable',
    'shape',
    'AIRTABLE_TOKEN',
    GITLEAKS,
    (r) => `${p('p', 'at')}${r.alnum(14)}.${r.hex(64)}`,
  ],
  [
    'notion',
    'shape',
    'NOTION_TOKEN',
    GITLEAKS,
    (r) => `${p('nt', 'n_')}${r.digits(11)}${r.alnum(35)}`,
  ],
  ['linear', 'shape', 'LINEAR_API_KEY', GITLEAKS, (r) => p('lin', '_api_') + r.alnum(40)],
  ['asana', 'name', 'ASANA_CLIENT_SECRET', GITLEAKS, (r) => r.lowerDigits(32)],
  ['figma', 'shape', 'FIGMA_TOKEN', SECRETLINT, (r) => p('fig', 'd_') + r.url(40)],
  ['typeform', 'shape', 'TYPEFORM', GITLEAKS, (r) => p('tf', 'p_') + r.url(59)],
  ['algolia', 'name', 'ALGOLIA_API_KEY', GITLEAKS, (r) => r.lowerDigits(32)],
  [
    'mapbox',
    'shape',
    'MAPBOX_TOKEN',
    'Mapbox docs',
    (r) => `${p('s', 'k.')}${p('ey', 'J1')}${r.alnum(60)}.${r.url(22)}`,
  ],
  [
    'maxmind',
    'shape',
    'MAXMIND_LICENSE',
    GITLEAKS,
    (r) => `${r.alnum(6)}_${r.alnum(29)}${p('_m', 'mk')}`,
  ],
  [
    'license-key',
    'name',
    'LICENSE_KEY',
    'common practice',
    (r) => Array.from({ length: 5 }, () => r.upperDigits(5)).join('-'),
  ],
]

/** @type {typeof cloud} */
const developer = [
  ['github-pat', 'shape', 'GITHUB_TOKEN', 'GitHub docs', (r) => p('gh', 'p_') + r.alnum(36)],
  [
    'github-fine-grained',
    'shape',
    'GH_PAT',
    'GitHub docs',
    (r) => `${p('github', '_pat_')}${r.alnum(22)}_${r.alnum(59)}`,
  ],
  ['github-app', 'shape', 'GH_APP', 'GitHub docs', (r) => p('gh', 's_') + r.alnum(36)],
  ['github-oauth', 'shape', 'GH_OAUTH', 'GitHub docs', (r) => p('gh', 'o_') + r.alnum(36)],
  ['gitlab-pat', 'shape', 'GITLAB_TOKEN', 'GitLab docs', (r) => p('gl', 'pat-') + r.url(20)],
  ['gitlab-runner', 'shape', 'RUNNER', 'GitLab docs', (r) => p('gl', 'rt-') + r.url(20)],
  ['gitlab-deploy', 'shape', 'GL_DEPLOY', 'GitLab docs', (r) => p('gl', 'dt-') + r.url(20)],
  ['bitbucket-app-password', 'shape', 'BITBUCKET', TRUFFLEHOG, (r) => p('AT', 'BB') + r.alnum(32)],
  ['atlassian', 'shape', 'ATLASSIAN_TOKEN', GITLEAKS, (r) => `${p('ATA', 'TT3')}${r.url(186)}`],
  ['npm', 'shape', 'NPM_TOKEN', 'npm docs', (r) => p('np', 'm_') + r.alnum(36)],
  [
    'pypi',
    'shape',
    'PYPI_TOKEN',
    'PyPI docs',
    (r) => p('pypi-', 'AgEIcHlwaS5v', 'cmc') + r.url(150),
  ],
  ['rubygems', 'shape', 'GEM_HOST_API_KEY', 'RubyGems docs', (r) => p('ruby', 'gems_') + r.hex(48)],
  ['crates-io', 'shape', 'CARGO_REGISTRY_TOKEN', GITHUB, (r) => p('ci', 'o') + r.alnum(32)],
  ['nuget', 'shape', 'NUGET_API_KEY', GITHUB, (r) => p('oy', '2') + r.lowerDigits(43)],
  ['clojars', 'shape', 'CLOJARS', GITLEAKS, (r) => p('CLO', 'JARS_') + r.hex(60)],
  ['docker-hub', 'shape', 'DOCKER_TOKEN', 'Docker docs', (r) => p('dckr', '_pat_') + r.url(27)],
  ['artifactory', 'shape', 'ARTIFACTORY', DETECT, (r) => p('AK', 'Cp') + r.alnum(69)],
  ['sonar', 'shape', 'SONAR_TOKEN', GITLEAKS, (r) => p('sq', 'u_') + r.hex(40)],
  ['sentry-user', 'shape', 'SENTRY_AUTH_TOKEN', 'Sentry docs', (r) => p('sntry', 'u_') + r.hex(64)],
  ['datadog', 'name', 'DD_API_KEY', GITLEAKS, (r) => r.hex(32)],
  ['newrelic', 'shape', 'NEW_RELIC_KEY', GITLEAKS, (r) => p('NR', 'AK-') + r.upperDigits(27)],
  [
    'grafana',
    'shape',
    'GRAFANA_TOKEN',
    'Grafana docs',
    (r) => `${p('gl', 'sa_')}${r.alnum(32)}_${r.hex(8)}`,
  ],
  [
    'dynatrace',
    'shape',
    'DYNATRACE',
    GITLEAKS,
    (r) => `${p('dt0', 'c01.')}${r.upperDigits(24)}.${r.upperDigits(64)}`,
  ],
  [
    'postman',
    'shape',
    'POSTMAN_API_KEY',
    GITLEAKS,
    (r) => `${p('PM', 'AK-')}${r.hex(24)}-${r.hex(34)}`,
  ],
  ['readme', 'shape', 'README_API_KEY', GITLEAKS, (r) => p('rd', 'me_') + r.lowerDigits(70)],
  ['planetscale', 'shape', 'PLANETSCALE', GITLEAKS, (r) => p('pscale', '_pw_') + r.url(43)],
  ['supabase', 'shape', 'SUPABASE_ACCESS_TOKEN', GITHUB, (r) => p('sb', 'p_') + r.hex(40)],
  ['snyk', 'name', 'SNYK_TOKEN', GITLEAKS, (r) => r.uuid()],
  [
    'circleci',
    'shape',
    'CIRCLE_TOKEN',
    GITHUB,
    (r) => `${p('CCI', 'PAT_')}${r.alnum(22)}_${r.hex(40)}`,
  ],
  ['buildkite', 'shape', 'BUILDKITE_TOKEN', GITHUB, (r) => p('bk', 'ua_') + r.hex(40)],
  [
    'tailscale',
    'shape',
    'TS_AUTHKEY',
    GITHUB,
    (r) => `${p('tskey', '-auth-')}${r.alnum(11)}CNTRL-${r.alnum(32)}`,
  ],
  ['okta', 'name', 'OKTA_API_TOKEN', GITLEAKS, (r) => p('0', '0') + r.url(40)],
  ['launchdarkly', 'shape', 'LD_SDK_KEY', GITHUB, (r) => p('sd', 'k-') + r.uuid()],
]

/** @type {typeof cloud} */
const chat = [
  [
    'slack-bot',
    'shape',
    'SLACK_BOT_TOKEN',
    'Slack docs',
    (r) => `${p('xox', 'b-')}${r.digits(12)}-${r.digits(13)}-${r.alnum(24)}`,
  ],
  [
    'slack-user',
    'shape',
    'SLACK_USER',
    'Slack docs',
    (r) => `${p('xox', 'p-')}${r.digits(12)}-${r.digits(12)}-${r.digits(12)}-${r.hex(32)}`,
  ],
  [
    'slack-app',
    'shape',
    'SLACK_APP',
    'Slack docs',
    (r) => `${p('xa', 'pp-1-')}A${r.upperDigits(10)}-${r.digits(13)}-${r.hex(64)}`,
  ],
  [
    'telegram',
    'shape',
    'TELEGRAM_BOT_TOKEN',
    'Telegram Bot API',
    (r) => `${1 + r.below(8)}${r.digits(9)}:${p('A', 'A')}${r.url(33)}`,
  ],
  [
    'discord-bot',
    'shape',
    'DISCORD_TOKEN',
    DETECT,
    (r) => `${p('M', 'T')}${r.alnum(24)}.${r.alnum(6)}.${r.url(38)}`,
  ],
  [
    'slack-webhook',
    'context',
    'ALERTS_URL',
    'Slack docs',
    (r) =>
      address(
        r.alnum(24),
        `https://hooks.slack.com/services/T${r.upperDigits(8)}/B${r.upperDigits(10)}/`,
        '',
      ),
  ],
  [
    'discord-webhook',
    'context',
    'NEWS_URL',
    'Discord docs',
    (r) => address(r.url(68), `https://discord.com/api/webhooks/${r.digits(18)}/`, ''),
  ],
  [
    'teams-webhook',
    'context',
    'TEAM_URL',
    GITLEAKS,
    (r) =>
      address(
        r.hex(32),
        `https://shop.webhook.office.com/webhookb2/${r.uuid()}@${r.uuid()}/IncomingWebhook/`,
        `/${r.uuid()}`,
      ),
  ],
  [
    'zapier-webhook',
    'context',
    'FLOW_URL',
    GITHUB,
    (r) => address(r.lowerDigits(14), `https://hooks.zapier.com/hooks/catch/${r.digits(7)}/`, '/'),
  ],
  [
    'google-chat-webhook',
    'context',
    'ROOM_URL',
    'Google Chat docs',
    (r) =>
      address(
        r.url(43),
        'https://chat.googleapis.com/v1/spaces/AAAAshop/messages?threadKey=a&token=',
        '',
      ),
  ],
]

/** @type {typeof cloud} */
const databases = [
  [
    'postgres-url',
    'context',
    'DATABASE_URL',
    GITHUB,
    (r) => address(r.alnum(18), 'postgres://shop:', '@db.internal:5432/shop'),
  ],
  [
    'postgres-url-word',
    'context',
    'PG',
    'PostgreSQL docs',
    (r) => address(r.password(), 'postgresql://app:', '@db.internal/app?sslmode=require'),
  ],
  [
    'mysql-url',
    'context',
    'MYSQL',
    GITHUB,
    (r) => address(r.alnum(16), 'mysql://root:', '@mysql.internal:3306/shop'),
  ],
  [
    'mongodb-url',
    'context',
    'MONGO',
    GITHUB,
    (r) => address(r.alnum(16), 'mongodb+srv://app:', '@cluster0.example.mongodb.net/shop'),
  ],
  [
    'redis-url',
    'context',
    'REDIS_URL',
    SECRETLINT,
    (r) => address(r.alnum(32), 'rediss://default:', '@cache.internal:6380/0'),
  ],
  [
    'amqp-url',
    'context',
    'QUEUE',
    SECRETLINT,
    (r) => address(r.password(), 'amqps://worker:', '@mq.internal/shop'),
  ],
  [
    'smtp-url',
    'context',
    'MAIL',
    'Nodemailer docs',
    (r) => address(r.password(), 'smtps://mailer:', '@smtp.internal:465'),
  ],
  [
    'sqlserver-connection',
    'context',
    'SQL',
    'Microsoft docs',
    (r) =>
      address(
        r.password(),
        'Server=tcp:sql.internal,1433;Database=shop;User Id=app;Password=',
        ';Encrypt=True;',
      ),
  ],
  [
    'jdbc-url',
    'context',
    'JDBC',
    'PostgreSQL JDBC docs',
    (r) =>
      address(r.password(), 'jdbc:postgresql://db.internal/shop?user=app&password=', '&ssl=true'),
  ],
  [
    'libpq-keywords',
    'context',
    'DSN',
    'PostgreSQL docs',
    (r) => address(r.password(), 'host=db.internal user=app password=', ' dbname=shop'),
  ],
  [
    'git-url',
    'context',
    'REPO',
    GITLEAKS,
    (r) => address(r.alnum(30), 'https://x-access-token:', '@git.internal/shop/app.git'),
  ],
]

const KEYS = 'RFC 7468'
/** @type {typeof cloud} */
const keys = [
  ['jwt', 'shape', 'ID_TOKEN', 'RFC 7519', jwt],
  [
    'pem-rsa',
    'context',
    'SIGNING_PEM',
    KEYS,
    (r) => block(p('RSA PRI', 'VATE KEY'), bodyLines(r, 'MIIE', 8)),
  ],
  [
    'pem-pkcs8',
    'context',
    'TLS_PEM',
    KEYS,
    (r) => block(p('PRI', 'VATE KEY'), bodyLines(r, 'MIIEv', 8)),
  ],
  [
    'pem-ec',
    'context',
    'EC_PEM',
    KEYS,
    (r) => block(p('EC PRI', 'VATE KEY'), bodyLines(r, 'MHcC', 3)),
  ],
  [
    'pem-encrypted',
    'context',
    'SEALED_PEM',
    KEYS,
    (r) => block(p('ENCRYPTED PRI', 'VATE KEY'), bodyLines(r, 'MIIF', 6)),
  ],
  [
    'openssh',
    'context',
    'DEPLOY',
    'OpenSSH PROTOCOL.key',
    (r) => block(p('OPENSSH PRI', 'VATE KEY'), bodyLines(r, 'b3BlbnNzaC1rZXktdjE', 5, 70)),
  ],
  [
    'pgp',
    'context',
    'PGP',
    'RFC 9580',
    (r) => block(p('PGP PRI', 'VATE KEY BLOCK'), bodyLines(r, 'lQOY', 6), '\n'),
  ],
  ['age', 'shape', 'AGE', 'age specification', (r) => p('AGE-', 'SECRET-', 'KEY-1') + r.bech32(58)],
  [
    'putty',
    'context',
    'PPK',
    'PuTTY docs',
    (r) =>
      address(
        r.hex(40),
        `PuTTY-User-Key-File-2: ssh-rsa\nEncryption: none\n${p('Private', '-Lines')}: 1\n${r.base64(64)}\n${p('Private', '-MAC')}: `,
        '\n',
      ),
  ],
  ['wireguard', 'name', 'PrivateKey', 'WireGuard docs', (r) => `${r.base64(43)}=`],
  [
    'jwk-d',
    'context',
    'JWK',
    'RFC 7517',
    (r) =>
      address(
        r.url(43),
        `{"kty":"EC","crv":"P-256","x":"${r.url(43)}","y":"${r.url(43)}","d":"`,
        '"}',
      ),
  ],
  [
    'gcp-service-account',
    'context',
    'SERVICE_ACCOUNT',
    'Google Cloud docs',
    (r) => {
      const { secret, text } = block(p('PRI', 'VATE KEY'), bodyLines(r, 'MIIEv', 6))
      return {
        secret,
        text: JSON.stringify({
          type: 'service_account',
          project_id: 'shop',
          private_key_id: r.hex(40),
          private_key: text,
          client_email: 'app@shop.example',
        }),
      }
    },
  ],
  ['mnemonic', 'name', 'MNEMONIC', 'BIP 39', (r) => r.phrase(12)],
  [
    'otpauth',
    'context',
    'TOTP',
    'Google Authenticator key URI format',
    (r) => address(r.base32(32), 'otpauth://totp/Shop:app?secret=', '&issuer=Shop'),
  ],
  ['totp-seed', 'name', 'TOTP_SECRET', 'RFC 6238', (r) => r.base32(26)],
]

/** @type {typeof cloud} */
const plain = [
  ['password-words', 'name', 'PASSWORD', 'CWE-312', (r) => r.password()],
  ['password-short', 'name', 'DB_PASS', 'CWE-312', (r) => `${r.word()}${r.digits(3)}`],
  [
    'password-strong',
    'name',
    'ADMIN_PASSWORD',
    'CWE-312',
    (r) => `${r.alnum(9)}!${r.alnum(6)}#${r.alnum(2)}`,
  ],
  [
    'passphrase',
    'name',
    'KEY_PASSPHRASE',
    'CWE-312',
    (r) => `${r.word()} ${r.word()} ${r.word()} ${r.digits(4)}`,
  ],
  ['pin', 'name', 'PIN', 'CWE-312', (r) => `${1 + r.below(9)}${r.digits(9)}`],
  ['api-key-hex', 'name', 'API_KEY', `${GITLEAKS} generic-api-key`, (r) => r.hex(32)],
  ['api-key-uuid', 'name', 'SERVICE_API_KEY', `${GITLEAKS} generic-api-key`, (r) => r.uuid()],
  ['client-secret', 'name', 'CLIENT_SECRET', OAUTH, (r) => r.url(40)],
  ['access-token', 'name', 'ACCESS_TOKEN', OAUTH, (r) => r.url(48)],
  ['refresh-token', 'name', 'REFRESH_TOKEN', OAUTH, (r) => r.url(48)],
  ['auth-code', 'name', 'code', OAUTH, (r) => r.url(36)],
  ['pkce-verifier', 'name', 'CODE_VERIFIER', 'RFC 7636', (r) => r.url(64)],
  ['session-cookie', 'name', 'session_id', 'OWASP session management', (r) => r.hex(40)],
  [
    'connect-sid',
    'name',
    'connect.sid',
    'express-session docs',
    (r) => `s%3A${r.url(32)}.${r.alnum(43)}`,
  ],
  ['signing-secret', 'name', 'JWT_SECRET', DETECT, (r) => r.alnum(44)],
  [
    'encryption-key',
    'name',
    'ENCRYPTION_KEY',
    `${GITLEAKS} generic-api-key`,
    (r) => `${r.base64(43)}=`,
  ],
  ['basic-auth', 'name', 'BASIC_PASSWORD', 'RFC 7617', (r) => r.password()],
]

/** @type {ReadonlyMap<string, Format>} */
export const formats = new Map(
  Object.entries({ cloud, models, business, developer, chat, databases, keys, plain }).flatMap(
    ([group, rows]) =>
      rows.map(([id, by, name, publisher, make]) => [id, { id, group, by, name, publisher, make }]),
  ),
)
