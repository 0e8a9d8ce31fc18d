import { createTransport, type Transporter } from 'nodemailer'
import type { Settings } from '../settings.js'
import type { Log } from '../operate/log.js'

export interface Mail {
  readonly subject: string
  readonly text: string
  readonly link: string
  /** Address that stops mails of this kind. */
  readonly unsubscribe?: string
}

/** Sends mail; without a mail server, prints its link to the log. */
export class Mailer {
  readonly #transport: Transporter | undefined
  /** Addresses whose next link is not sent, and what gets it instead. */
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

  /** Throws if the mail server does not answer. */
  async check(): Promise<void> {
    await this.#transport?.verify()
  }

  /** The token in the link that `work` would send. */
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
