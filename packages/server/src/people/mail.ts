import { createTransport, type Transporter } from 'nodemailer'
import type { Settings } from '../edge/settings.js'
import type { Log } from '../edge/log.js'

export interface Mail {
  readonly subject: string
  readonly text: string
  readonly link: string
  /** Link that stops emails of this kind. */
  readonly unsubscribe?: string
}

/** Sends email. Without a mail server, writes the link to the log. */
export class Mailer {
  readonly #transport: Transporter | undefined
  /** Callbacks that get the next email to an address instead. */
  readonly #intercepted = new Map<string, (mail: Mail) => void>()

  constructor(
    private readonly settings: Pick<Settings, 'smtpUrl' | 'mailFrom'>,
    private readonly log: Log,
  ) {
    this.#transport = settings.smtpUrl && createTransport(settings.smtpUrl.href)
  }

  async send(to: string, mail: Mail): Promise<void> {
    const intercepted = this.#intercepted.get(to)
    if (intercepted !== undefined) return intercepted(mail)
    if (this.#transport === undefined) {
      this.log.info('mail', { to, subject: mail.subject, link: mail.link })
      return
    }
    await this.#transport.sendMail({
      from: this.settings.mailFrom,
      to,
      subject: mail.subject,
      text: `${mail.text}\n\n${mail.link}\n${mail.unsubscribe === undefined ? '' : `\nUnsubscribe: ${mail.unsubscribe}\n`}`,
      ...(mail.unsubscribe !== undefined && {
        headers: {
          'List-Unsubscribe': `<${mail.unsubscribe}>`,
          'List-Unsubscribe-Post': 'List-Unsubscribe=One-Click',
        },
      }),
    })
  }

  /** Throws if the mail server does not respond. */
  async check(): Promise<void> {
    await this.#transport?.verify()
  }

  /** Returns the token in the link that `work` would have sent. */
  async intercept(to: string, work: () => Promise<unknown>): Promise<string> {
    let link: string | undefined
    this.#intercepted.set(to, (mail) => (link = mail.link))
    try {
      await work()
    } finally {
      this.#intercepted.delete(to)
    }
    return new URL(link ?? 'x:').searchParams.get('token') ?? ''
  }

  close(): void {
    this.#transport?.close()
  }
}
