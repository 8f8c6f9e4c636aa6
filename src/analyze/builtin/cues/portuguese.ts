/** Words by which Portuguese customers are understood. Lower case; they are looked for in one clause. */
import { type Cues, words } from './cues.ts'

export const PORTUGUESE: Cues = {
  bug_report: words(
    'trava(?:ndo|do)?|fecha sozinho',
    'não (?:funciona|carrega|abre|responde|consigo (?:fazer login|entrar|abrir|acessar|enviar|baixar))',
    '(?:um|aparece) erro|continua não funcionando',
  ),
  feature_request: words(
    '(?:estaría|sería|seria) (?:bien|bueno|genial|útil|ideal|bom|ótimo|legal)',
    'me gustaría (?:poder|tener)|falta (?:una?|uma|um) (?:opción|función|opção|função|modo|botón)',
    'por favor,? (?:agreguen|añadan|adicionem|incluyan)|gostaria de (?:poder|ter)',
  ),
  complaint: words(
    'absurdo|péssim[oa]|inaceitável|decepcionad[oa]|(?:muito|caro) (?:caro|demais|lento)',
    'ninguém responde|demora demais|horrível|vergonha',
  ),
  praise: words(
    'adorei|amo|amei|excelente|ótimo (?:app|aplicativo|serviço|atendimento)',
    'muito (?:fácil|bom|boa|prático|satisfeit[oa]|útil|feliz)|maravilhos[oa]|perfeito|recomendo',
  ),
  confusion: words(
    'no (?:lo |la )?entiendo|confus[oa]|no (?:me )?queda claro|qué significa (?:eso|esto)',
    'não (?:entendi|entendo)|não (?:ficou|está) claro|o que (?:isso )?significa',
  ),
  human_requested: words(
    String.raw`hablar con (?:un |una |alguien)\w*|(?:páseme|comuníqueme) con|falar com (?:um |uma |alguém)\w*`,
    'me transfira|atendente humano',
  ),
  churn_risk: words(
    '(?:cancelar|dar de baja) (?:mi|la|el|nuestra) (?:suscripción|cuenta|servicio|contrato)',
    'doy de baja|cambia(?:r|mos) (?:a otro|de proveedor)|nos cambiamos',
    'cancelar (?:minha|nossa|a) (?:conta|assinatura)|mudar de (?:fornecedor|empresa)',
    'excluam minha conta',
  ),
  wrong_answer: words(
    'es (?:incorrecto|falso)|no es (?:correcto|verdad|cierto|así)|no existe',
    'está (?:mal|errado|errada|incorreto)|não é (?:verdade|correto)|não existe|isso está errado',
  ),
  repeated_problem: words(
    'sigue (?:sin|igual|fallando|dando)|otra vez|de nuevo (?:el|lo)',
    'ya (?:lo )?(?:dije|reporté|expliqué)|mism[oa] (?:error|problema)|(?:segunda|tercera) vez',
    'ainda não|continua (?:não|com|o)|de novo (?:o )?mesmo|mesmo (?:erro|problema)',
    'já (?:falei|disse|reportei)',
  ),
  resolved_confirmation: words(
    'ya (?:funciona|la encontré|lo encontré|está|quedó|pude)|problema resuelto|solucionado|resuelto',
    'listo|deu certo|agora (?:funcionou|funciona|foi)|funcionou|resolvido|consegui',
  ),
}
